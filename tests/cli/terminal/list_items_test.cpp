#include "cli/terminal/list_items.h"

#include <catch2/catch.hpp>

namespace trainer {

TEST_CASE("items of a list stand between its commas, without spaces around them", "[cli]") {
  using Items = std::vector<std::string>;
  CHECK(list_items("1,2, 3 ") == Items{"1", "2", "3"});
  CHECK(list_items("") == Items{""});
  CHECK(list_items("a,,") == Items{"a", "", ""});
}

TEST_CASE("commas inside of brackets and quotes end no item", "[cli]") {
  using Items = std::vector<std::string>;
  CHECK(list_items("[1, 2], {a: (3, 4)}") == Items{"[1, 2]", "{a: (3, 4)}"});
  CHECK(list_items("3x[0, 64), [0, 64)x3") == Items{"3x[0, 64)", "[0, 64)x3"});
  CHECK(list_items(R"('a, b', "it's, [", c)") == Items{"'a, b'", R"("it's, [")", "c"});
}

TEST_CASE("a list whose brackets or quotes stay open has no items", "[cli]") {
  for (const char* text : {"[1, 2", "1, 2]", "'a, b", "(]["}) CHECK_FALSE(list_items(text));
}

}  // namespace trainer
