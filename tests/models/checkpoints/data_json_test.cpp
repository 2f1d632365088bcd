#include "models/checkpoints/data_json.h"

#include <catch2/catch.hpp>

#include "engine/core/error.h"

namespace trainer {
namespace {

DataDescription flowers() {
  return {.name = "csv",
          .info = {.size = 120, .sample = {2}, .classes = 2, .class_names = {"wide", "caf\xe9"}},
          .train = 120,
          .validation = 30,
          .fingerprint = {"flowers.csv 12 bytes"},
          .form = {.has_pixels = false,
                   .columns = {{"a", TableColumn::Use::input},
                               {"", TableColumn::Use::ignored},
                               {"b", TableColumn::Use::input},
                               {"sort", TableColumn::Use::target}},
                   .separator = ';',
                   .header = 2},
          .statistics = {{0.1f, -3e-7f}, {1.f / 3, 2}}};
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
  CHECK(after.form.separator == ';');
  CHECK(after.validation == 30);
}

TEST_CASE("a description that contradicts itself is damaged", "[training]") {
  const std::string text = text_of(flowers());
  for (const auto& [from, to] :
       std::vector<std::pair<std::string, std::string>>{{"\"classes\": 2", "\"classes\": 3"},
                                                        {"\"vocabulary\": 0", "\"vocabulary\": 4"},
                                                        {"\"use\": \"ignored\"", "\"use\": \"input\""},
                                                        {"\"use\": \"ignored\"", "\"use\": \"spare\""},
                                                        {"\"separator\": \";\"", "\"separator\": \"\""},
                                                        {"\"train\": 120", "\"train\": 0"},
                                                        {"\"crop\": 1", "\"crop\": 0"},
                                                        {"\"hex\": \"636166e9\"", "\"hex\": \"636166e\""},
                                                        {"\"format\": 1", "\"form\": 1"},
                                                        {"{", "["}})
    CHECK_THROWS_AS(parse_data_description(changed(text, from, to)), Error);
  CHECK_THROWS_WITH(parse_data_description(changed(text, "\"format\": 1", "\"format\": 2")),
                    Catch::Contains("has format 2, this program reads format 1"));
}

}  // namespace trainer
