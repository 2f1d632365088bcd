#include "engine/core/counted.h"

#include <catch2/catch.hpp>

namespace trainer {

TEST_CASE("numbers have their digits in groups of three", "[core]") {
  CHECK(grouped(0) == "0");
  CHECK(grouped(999) == "999");
  CHECK(grouped(274'758) == "274,758");
  CHECK(grouped(-1'000) == "-1,000");
  CHECK(grouped(-100) == "-100");
}

TEST_CASE("a noun behind a number is plural unless the number is 1", "[core]") {
  CHECK(counted(1, "sample") == "1 sample");
  CHECK(counted(0, "sample") == "0 samples");
  CHECK(counted(1'200, "sample") == "1,200 samples");
  CHECK(counted(2, "process", "es") == "2 processes");
}

}  // namespace trainer
