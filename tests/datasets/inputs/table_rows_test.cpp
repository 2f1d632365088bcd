#include "datasets/inputs/table_rows.h"

#include <catch2/catch.hpp>

namespace trainer {
namespace {

using Use = TableColumn::Use;

DataDescription named() {
  return {.name = "csv",
          .info = {.sample = {2}},
          .form = {.columns = {{"a", Use::input}, {"target", Use::target}, {"b", Use::input}}, .header = 1}};
}

DataDescription unnamed() {
  DataDescription data = named();
  for (TableColumn& column : data.form.columns) column.name.clear();
  data.form.header = 0;
  return data;
}

/// Reads records, and gives "1 2 id" of each sample.
std::vector<std::string> read(const DataDescription& data,
                              const std::vector<std::vector<std::string>>& records,
                              const std::string& id = "") {
  TableRows rows(data, id, "t.csv");
  std::vector<std::string> samples;
  std::int64_t line = 0;
  for (const auto& record : records) {
    std::vector<float> elements(2);
    std::string key;
    if (!rows.read(record, ++line, elements, key)) continue;
    samples.push_back(std::to_string(static_cast<int>(elements[0])) + " " +
                      std::to_string(static_cast<int>(elements[1])) + " " + key);
  }
  return samples;
}

using Samples = std::vector<std::string>;

}  // namespace

TEST_CASE("a header with the names of training gives the columns, in any order", "[data]") {
  CHECK(read(named(), {{"b", "a"}, {"2", "1"}}) == Samples{"1 2 "});
  CHECK(read(named(), {{" b ", "key", "a"}, {"2", "k", "1"}}, "key") == Samples{"1 2 k"});
  CHECK(read(named(), {{"a", "b", "id"}, {"1", "2", "7"}}, "3") == Samples{"1 2 7"});
}

TEST_CASE("without names, fields are the inputs in order, or stand where they did in training", "[data]") {
  CHECK(read(named(), {{"1", "2"}, {"3", "4"}}) == Samples{"1 2 ", "3 4 "});
  CHECK(read(named(), {{"1", "x", "2"}}) == Samples{"1 2 "});
  CHECK(read(unnamed(), {{"1", "", "2"}}) == Samples{"1 2 "});
  CHECK(read(unnamed(), {{"k", "1", "2"}}, "1") == Samples{"1 2 k"});
  CHECK(read(unnamed(), {{"1", "k", "2"}}, "2") == Samples{"1 2 k"});
  DataDescription two = unnamed();
  two.form.columns.clear();
  CHECK(read(two, {{"k", "1", "2"}}, "1") == Samples{"1 2 k"});
  CHECK(read(two, {{"1", "k", "2"}}, "2") == Samples{"1 2 k"});
  two.form.header = 1;
  CHECK(read(two, {{"a title"}, {"1", "2"}}) == Samples{"1 2 "});
}

TEST_CASE("a header that lacks a column of the model is an error, and no row is guessed", "[data]") {
  CHECK_THROWS_WITH(read(named(), {{"a", "c"}, {"1", "2"}}), Catch::Contains("does not name the columns"));
  CHECK_THROWS_WITH(read(named(), {{"a", "b", "a"}, {"1", "2", "3"}}), Catch::Contains("two columns `a`"));
  CHECK_THROWS_WITH(read(named(), {{"a", "b"}, {"1", "2"}}, "key"),
                    Catch::Contains("no column `key` for --id"));
}

TEST_CASE("a damaged record is an error with its line, and does not change how others are read", "[data]") {
  const DataDescription data = unnamed();
  TableRows rows(data, "", "t.csv");
  std::vector<float> elements(2);
  std::string id;
  const auto take = [&](const std::vector<std::string>& fields, std::int64_t line) {
    return rows.read(fields, line, elements, id);
  };
  CHECK_THROWS_WITH(take({"1"}, 1), Catch::Contains("1 field, 2 expected"));
  CHECK(take({"1", "2"}, 2));
  CHECK_THROWS_WITH(take({"1", "y"}, 3), Catch::Contains("column 2 requires a number, got `y`"));
  CHECK_THROWS_WITH(take({"1", "inf"}, 3), Catch::Contains("requires a number"));
  CHECK_THROWS_WITH(take({"1", "2", "3"}, 4), Catch::Contains("3 fields, 2 expected"));
  CHECK(take({"3", "4"}, 5));
  CHECK(elements == std::vector<float>{3, 4});
}

TEST_CASE("texts and missing values become elements as in training", "[data]") {
  using Kind = TableColumn::Kind;
  DataDescription data{.name = "csv", .info = {.sample = {6}}};
  data.form.columns = {{.name = "size", .has_indicator = true, .fill = 2.5f, .missing = 1},
                       {.name = "kind", .kind = Kind::category, .categories = {"u", "v"}, .others = 3},
                       {.name = "new", .kind = Kind::boolean, .requires_value = true}};
  TableRows rows(data, "", "t.csv");
  std::vector<float> elements(6);
  std::string id;
  const auto take = [&](const std::vector<std::string>& fields) {
    REQUIRE(rows.read(fields, 1, elements, id));
    return elements;
  };
  REQUIRE(!rows.read({"new", "kind", "size"}, 1, elements, id));
  CHECK(take({"yes", "v", "7"}) == std::vector<float>{7, 0, 0, 1, 0, 1});
  CHECK(take({"False", "unseen", "NA"}) == std::vector<float>{2.5f, 1, 0, 0, 1, 0});
  CHECK(take({"1", "?", ""}) == std::vector<float>{2.5f, 1, 0, 0, 1, 1});
  CHECK_THROWS_WITH(rows.read({"", "u", "1"}, 1, elements, id),
                    Catch::Contains("column 1 `new` requires a value"));
  CHECK_THROWS_WITH(rows.read({"2", "u", "1"}, 1, elements, id),
                    Catch::Contains("column 1 `new` requires true, false, yes or no, got `2`"));
}

}  // namespace trainer
