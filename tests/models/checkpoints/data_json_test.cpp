#include "models/checkpoints/data_json.h"

#include <catch2/catch.hpp>

#include "engine/core/error.h"

namespace trainer {
namespace {

DataDescription flowers() {
  return {.name = "csv",
          .info = {.size = 120, .sample = {5}, .classes = 2, .class_names = {"wide", "caf\xe9"}},
          .train = 120,
          .validation = 30,
          .fingerprint = {"flowers.csv 12 bytes"},
          .form = {.has_pixels = false,
                   .columns = {{.name = "a", .has_indicator = true, .fill = 0.1f, .missing = 2},
                               {.use = TableColumn::Use::ignored, .reason = "no value"},
                               {.name = "b",
                                .kind = TableColumn::Kind::category,
                                .requires_value = true,
                                .categories = {"u", "\xff"},
                                .others = 1},
                               {"sort", TableColumn::Use::target}},
                   .separator = ';',
                   .header = 2},
          .statistics = {{0.1f, -3e-7f, 0, 0, 0}, {1.f / 3, 2, 1, 1, 1}},
          .class_counts = {90, 30}};
}

std::string changed(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

}  // namespace

TEST_CASE("a description of data is read as it was written, every bit", "[training]") {
  const DataDescription before = flowers();
  const DataDescription after = parse_data_description(text_of(before));
  CHECK(text_of(after) == text_of(before));
  CHECK(after.info.class_names == before.info.class_names);  // also what is not UTF-8
  CHECK(after.info.sample == before.info.sample);
  CHECK(after.statistics.mean == before.statistics.mean);
  CHECK(after.statistics.deviation == before.statistics.deviation);
  CHECK(after.form.columns[1].use == TableColumn::Use::ignored);
  CHECK(after.form.columns[1].reason == "no value");
  CHECK(after.form.columns[0].fill == 0.1f);
  CHECK(after.form.columns[2].categories == before.form.columns[2].categories);
  CHECK(after.target_statistics.deviation == before.target_statistics.deviation);
  CHECK(after.class_counts == before.class_counts);
  CHECK(after.form.separator == ';');
  CHECK(after.validation == 30);
}

TEST_CASE("a description that could not be read again is an error with its size and what makes it smaller",
          "[training]") {
  const std::size_t size = text_of(flowers()).size();
  CHECK_NOTHROW(text_of(flowers(), size));
  CHECK_THROWS_WITH(text_of(flowers(), size - 1),
                    Catch::Contains(std::to_string(size) + " bytes, and " + std::to_string(size - 1)));
}

TEST_CASE("samples that are their own targets may have named classes", "[training]") {
  DataDescription own = flowers();
  own.info.classes = 0;
  own.info.target = own.info.sample;
  own.class_counts.clear();
  CHECK(parse_data_description(text_of(own)).info.class_names == own.info.class_names);
}

TEST_CASE("a description that contradicts itself is damaged", "[training]") {
  const std::string text = text_of(flowers());
  for (const auto& [from, to] :
       std::vector<std::pair<std::string, std::string>>{{"\"classes\": 2", "\"classes\": 3"},
                                                        {"\"vocabulary\": 0", "\"vocabulary\": 4"},
                                                        {"\"use\": \"ignored\"", "\"use\": \"input\""},
                                                        {"\"use\": \"ignored\"", "\"use\": \"spare\""},
                                                        {"\"kind\": \"category\"", "\"kind\": \"text\""},
                                                        {"\"others\": 1", "\"others\": 0"},
                                                        {"\"separator\": \";\"", "\"separator\": \"\""},
                                                        {"\"train\": 120", "\"train\": 0"},
                                                        {"\"class_counts\": [", "\"class_counts\": [1,"},
                                                        {"\"crop\": 1", "\"crop\": 0"},
                                                        {"\"hex\": \"636166e9\"", "\"hex\": \"636166e\""},
                                                        {"\"format\": 1", "\"form\": 1"},
                                                        {"{", "["}})
    CHECK_THROWS_AS(parse_data_description(changed(text, from, to)), Error);
  CHECK_THROWS_WITH(parse_data_description(changed(text, "\"format\": 1", "\"format\": 2")),
                    Catch::Contains("has format 2, this program reads format 1"));
}

TEST_CASE("a description without types of columns has numbers, all of which are required", "[training]") {
  DataDescription numbers = flowers();
  numbers.info.sample = {2};
  numbers.statistics = {};
  for (TableColumn& column : numbers.form.columns) column = {.name = column.name, .use = column.use};
  std::string text = text_of(numbers);
  const std::string key = "\"kind\": \"number\"";
  for (std::size_t at = text.find(key); at != std::string::npos; at = text.find(key))
    text.replace(at + 1, 4, "sort");
  CHECK(parse_data_description(text).form.columns[0].requires_value);
}

}  // namespace trainer
