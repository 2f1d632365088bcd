#include "datasets/inputs/table_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "datasets/readers/csv_text.h"
#include "engine/config/source.h"
#include "engine/core/counted.h"

namespace trainer {
namespace {

std::vector<std::string> input_names(const InputForm& form) {
  std::vector<std::string> names;
  for (const TableColumn& column : form.columns)
    if (column.use == TableColumn::Use::input) names.push_back(column.name);
  const std::set<std::string> distinct(names.begin(), names.end());
  return distinct.size() == names.size() && !distinct.contains("") ? names : std::vector<std::string>();
}

/// Models of arrays and of earlier programs have no columns: all their elements are numbers.
std::vector<TableColumn> columns_of(const DataDescription& data) {
  if (!data.form.columns.empty()) return data.form.columns;
  std::vector<TableColumn> columns(static_cast<std::size_t>(data.info.sample.size()));
  for (TableColumn& column : columns) column.requires_value = true;
  return columns;
}

}  // namespace

TableRows::TableRows(const DataDescription& data, std::string id, std::string path)
    : data_(data),
      features_(columns_of(data)),
      id_(std::move(id)),
      path_(std::move(path)),
      names_(input_names(data.form)),
      cells_(features_.inputs()) {}

bool TableRows::names_inputs(const std::vector<std::string>& fields) {
  if (names_.empty()) return false;
  std::vector<std::string> trimmed;
  trimmed.reserve(fields.size());
  for (const std::string& field : fields) trimmed.emplace_back(without_spaces(field));
  std::vector<std::size_t> places;
  for (const std::string& name : names_) {
    const auto found = std::ranges::find(trimmed, name);
    if (found == trimmed.end()) return false;
    if (std::find(found + 1, trimmed.end(), name) != trimmed.end())
      throw Error(ExitCode::usage, fmt::format("{} has two columns {}", path_, in_quotes(name)),
                  "rename one of them");
    places.push_back(static_cast<std::size_t>(found - trimmed.begin()));
  }
  places_ = std::move(places);
  fields_ = fields.size();
  find_id(trimmed);
  return true;
}

bool TableRows::settle(std::size_t count) {
  const std::vector<TableColumn>& columns = data_.form.columns;
  std::vector<std::size_t> places(features_.inputs());
  std::iota(places.begin(), places.end(), std::size_t{0});
  // Ids may stand beside the inputs.
  std::size_t id = 0;
  const auto [end, problem] = std::from_chars(id_.data(), id_.data() + id_.size(), id);
  const bool has_id = problem == std::errc() && end == id_.data() + id_.size() && id >= 1 && id <= count;
  const bool is_as_in_training =
      count == columns.size() && !(has_id && columns[id - 1].use == TableColumn::Use::input);
  if (count == places.size() + 1 && has_id && !is_as_in_training) {
    for (std::size_t& place : places) place += place + 1 >= id ? 1 : 0;
  } else if (count != places.size()) {
    if (count != columns.size()) return false;
    places.clear();
    for (std::size_t column = 0; column < columns.size(); ++column)
      if (columns[column].use == TableColumn::Use::input) places.push_back(column);
  }
  places_ = std::move(places);
  fields_ = count;
  find_id({});
  return true;
}

void TableRows::find_id(const std::vector<std::string>& names) {
  if (id_.empty()) return;
  if (const auto found = std::ranges::find(names, id_); found != names.end()) {
    id_place_ = static_cast<std::size_t>(found - names.begin()) + 1;
    return;
  }
  const auto [end, problem] = std::from_chars(id_.data(), id_.data() + id_.size(), id_place_);
  if (problem == std::errc() && end == id_.data() + id_.size() && id_place_ >= 1 && id_place_ <= fields_)
    return;
  throw Error(
      ExitCode::usage, fmt::format("{} has no column {} for --id", path_, in_quotes(id_)),
      names.empty() ? fmt::format("a number from 1 to {}", fields_) : "its columns are " + listed(names));
}

bool TableRows::is_sample(const std::vector<std::string>& fields) const {
  bool has_number = false, has_category = false, has_known = false;
  for (std::size_t input = 0; input < places_.size(); ++input) {
    const std::string& field = fields[places_[input]];
    const TableColumn& column = features_.column(input);
    if (column.kind == TableColumn::Kind::category) {
      has_category = true;
      has_known =
          has_known || std::ranges::find(column.categories, without_spaces(field)) != column.categories.end();
    } else if (!is_missing(field)) {
      if (!features_.cell(input, field)) return false;
      has_number = true;
    }
  }
  return has_number || has_known || !has_category;
}

bool TableRows::read(const std::vector<std::string>& fields, std::int64_t line, std::span<float> elements,
                     std::string& id) {
  if (!is_settled()) {
    if (names_inputs(fields)) return false;
    const bool fits = settle(fields.size()) && (is_sample(fields) || lines_above_ >= data_.form.header);
    if (!fits) {
      places_.clear();
      std::vector<std::string> lacking;
      for (const std::string& name : names_)
        if (std::ranges::find(fields, name, without_spaces) == fields.end()) lacking.push_back(name);
      if (lines_above_ == 0) lacking_ = std::move(lacking);
      if (lines_above_++ < data_.form.header) return false;
    }
    if (lines_above_ > 0 && !names_.empty())
      throw Error(ExitCode::usage, fmt::format("{} does not name the columns of the model", path_),
                  fmt::format("a line with {}", listed(names_)) +
                      (lacking_.size() < names_.size() ? "; the first one lacks " + listed(lacking_) : ""));
  }
  if (!is_settled())
    fail_at(
        path_, line, fmt::format("{}, {} expected", counted(std::ssize(fields), "field"), features_.inputs()),
        data_.form.columns.empty()
            ? "one for each input of the model"
            : fmt::format("or {} with the columns that the model does not read", data_.form.columns.size()));
  if (fields.size() != fields_)
    fail_at(path_, line, fmt::format("{}, {} expected", counted(std::ssize(fields), "field"), fields_),
            "all lines must have as many fields as the first one");
  if (id_place_ > 0) id = without_spaces(fields[id_place_ - 1]);
  for (std::size_t i = 0; i < places_.size(); ++i) {
    const std::string& field = fields[places_[i]];
    const std::optional<float> cell = features_.cell(i, field);
    if (!cell) {
      const auto [what, right] = features_.problem(i, places_[i] + 1, field);
      fail_at(path_, line, what, right);
    }
    cells_[i] = *cell;
  }
  features_.expand(cells_, elements);
  return true;
}

}  // namespace trainer
