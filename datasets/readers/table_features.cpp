#include "datasets/readers/table_features.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <limits>

#include "datasets/readers/csv_text.h"
#include "engine/config/source.h"

namespace trainer {
namespace {

constexpr float kMissing = std::numeric_limits<float>::quiet_NaN();

/// True if `word`, in lower case, is the field in any case.
bool equals(std::string_view field, std::string_view word) {
  return std::ranges::equal(field, word, [](unsigned char a, char b) { return std::tolower(a) == b; });
}

}  // namespace

bool is_missing(std::string_view field) {
  field = without_spaces(field);
  constexpr std::array<std::string_view, 8> kWords{"", "?", "na", "n/a", "nan", "-nan", "+nan", "null"};
  return field.size() <= 4 &&
         std::ranges::any_of(kWords, [&](std::string_view word) { return equals(field, word); });
}

std::optional<float> parse_boolean(std::string_view field) {
  field = without_spaces(field);
  if (equals(field, "true") || equals(field, "yes")) return 1;
  if (equals(field, "false") || equals(field, "no")) return 0;
  return std::nullopt;
}

TableFeatures::TableFeatures(const std::vector<TableColumn>& columns) {
  for (const TableColumn& column : columns) {
    if (column.use != TableColumn::Use::input) continue;
    Input input{.column = column};
    if (column.kind == TableColumn::Kind::category) {
      std::size_t place = 0;
      for (const std::string& category : column.categories)
        input.places.emplace(category, static_cast<float>(place++));
      if (column.others > 0) input.other = static_cast<float>(place++);
      input.missing = column.missing > 0 ? static_cast<float>(place++) : input.other;
      input.elements = place;
    } else {
      input.elements = column.has_indicator ? 2 : 1;
    }
    inputs_.push_back(std::move(input));
  }
}

std::int64_t TableFeatures::size() const {
  std::int64_t size = 0;
  for (const Input& input : inputs_) size += static_cast<std::int64_t>(input.elements);
  return size;
}

std::optional<float> TableFeatures::cell(std::size_t input, std::string_view field) const {
  const Input& self = inputs_[input];
  const bool is_category = self.column.kind == TableColumn::Kind::category;
  if (is_missing(field)) {
    if (self.column.requires_value) return std::nullopt;
    return is_category ? self.missing : kMissing;
  }
  if (is_category) {
    const auto found = self.places.find(without_spaces(field));
    return found == self.places.end() ? self.other : found->second;
  }
  const bool is_boolean = self.column.kind == TableColumn::Kind::boolean;
  if (is_boolean)
    if (const std::optional<float> value = parse_boolean(field)) return value;
  double number = 0;
  if (!parse_number(field, number) || (is_boolean && number != 0 && number != 1)) return std::nullopt;
  return static_cast<float>(number);
}

std::pair<std::string, std::string> TableFeatures::problem(std::size_t input, std::size_t column,
                                                           std::string_view field) const {
  const TableColumn& self = inputs_[input].column;
  const std::string name = self.name.empty() ? "" : fmt::format(" {}", in_quotes(self.name));
  if (is_missing(field))
    return {fmt::format("column {}{} requires a value, got {}", column, name, in_quotes(field)),
            "complete the samples with missing values or remove them; `missing` of the data has other ways"};
  const bool is_boolean = self.kind == TableColumn::Kind::boolean;
  return {fmt::format("column {}{} requires {}, got {}", column, name,
                      is_boolean ? "true, false, yes or no" : "a number", in_quotes(field)),
          "the samples of training have that in this column"};
}

void TableFeatures::expand(std::span<const float> cells, std::span<float> elements) const {
  std::size_t at = 0;
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const Input& input = inputs_[i];
    const std::span<float> own = elements.subspan(at, input.elements);
    at += input.elements;
    if (input.column.kind == TableColumn::Kind::category) {
      std::ranges::fill(own, 0.0f);
      if (cells[i] >= 0) own[static_cast<std::size_t>(cells[i])] = 1;
      continue;
    }
    const bool missing = std::isnan(cells[i]);
    own[0] = missing ? input.column.fill : cells[i];
    if (own.size() > 1) own[1] = missing ? 1 : 0;
  }
}

std::vector<std::string> TableFeatures::names() const {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const TableColumn& column = inputs_[i].column;
    const std::string name = column.name.empty() ? fmt::format("input {}", i + 1) : column.name;
    if (column.kind != TableColumn::Kind::category) {
      names.push_back(name);
      if (column.has_indicator) names.push_back(name + " missing");
      continue;
    }
    for (const std::string& category : column.categories)
      names.push_back(fmt::format("{}={}", name, category));
    if (column.others > 0) names.push_back(name + " other");
    if (column.missing > 0) names.push_back(name + " missing");
  }
  return names;
}

std::vector<bool> TableFeatures::are_values() const {
  std::vector<bool> are_values;
  for (const Input& input : inputs_) {
    const std::size_t first = are_values.size();
    are_values.resize(first + input.elements, false);
    if (input.column.kind == TableColumn::Kind::number) are_values[first] = true;
  }
  return are_values;
}

}  // namespace trainer
