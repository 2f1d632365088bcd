#include "engine/core/units.h"

#include <catch2/catch.hpp>

namespace trainer {
namespace {

TEST_CASE("a size is a number of bytes with its unit", "[core]") {
  CHECK(bytes_of("16GiB") == std::int64_t{16} << 30);
  CHECK(bytes_of("1.5 kB") == 1500);
  for (const char* text :
       {"", "16", "GiB", "16gib", "16GiBs", "-1GB", "0B", "0.5B", "2e3B", "1e9TiB", "nanB", "infB"}) {
    INFO(text);
    CHECK_FALSE(bytes_of(text));
  }
}

TEST_CASE("a time is a number with s, m, h or d", "[core]") {
  CHECK(seconds_in("0.6s") == 0.6);
  CHECK(seconds_in("30m") == 1800.0);
  CHECK(seconds_in("1.5h") == 5400.0);
  CHECK(seconds_in("2d") == 172'800.0);
  for (const char* text : {"", "30", "m", "0s", "-1s", "30min", "1h30m", "20000d", "nans"}) {
    INFO(text);
    CHECK_FALSE(seconds_in(text));
  }
}

}  // namespace
}  // namespace trainer
