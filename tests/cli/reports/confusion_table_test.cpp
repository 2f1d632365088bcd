#include "cli/reports/confusion_table.h"

#include <algorithm>
#include <catch2/catch.hpp>

namespace trainer {
namespace {

TEST_CASE("a confusion matrix fits 80 columns: by names, by indices, or as a list of mistakes", "[cli]") {
  CHECK(confusion_table(std::vector<double>{3, 1, 0, 2}, {"cat", "dog"}) ==
        "confusion: a row for each true class, a column for each predicted one\n"
        "class  cat  dog\n"
        "cat      3    1\n"
        "dog      0    2\n");
  const auto counts_of = [](std::size_t classes) {
    std::vector<double> counts(classes * classes);
    for (std::size_t i = 0; i < classes; ++i) counts[i * classes + i] = 1234;
    return counts;
  };
  const std::vector<std::string> names(10, "a long name");
  const std::string numbered = confusion_table(counts_of(10), names);
  CHECK_THAT(numbered, Catch::Contains("\n9 a long name ") && Catch::Contains("    8     9\n"));
  std::vector<double> many = counts_of(40);
  CHECK(confusion_table(many, {}) == "confusion: no mistakes\n");
  many[3 * 40 + 39] = 2;
  many[5 * 40 + 1] = 7;
  CHECK(confusion_table(many, {}) ==
        "confusion: the most frequent mistakes\n"
        "class  predicted  samples\n"
        "5      1                7\n"
        "3      39               2\n");
  std::ranges::fill(many, 1);
  CHECK_THAT(confusion_table(many, {}), Catch::EndsWith("and 1,540 other pairs\n"));
}

}  // namespace
}  // namespace trainer
