#include "datasets/readers/csv_columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string_view>
#include <unordered_map>

#include "datasets/readers/csv_text.h"
#include "engine/config/source.h"
#include "engine/core/counted.h"
#include "engine/core/error.h"

namespace trainer {

namespace {

/// The name that the column of training has which `key` means; `key` itself if that has none.
std::string name_in_training(const std::string& key, const std::vector<TableColumn>& trained) {
  std::size_t number = 0;
  const auto [end, problem] = std::from_chars(key.data(), key.data() + key.size(), number);
  const bool is_number = problem == std::errc{} && end == key.data() + key.size();
  const bool is_name = std::ranges::find(trained, key, &TableColumn::name) != trained.end();
  if (is_name || !is_number || number < 1 || number > trained.size()) return key;
  const std::string& name = trained[number - 1].name;
  return !name.empty() && std::ranges::count(trained, name, &TableColumn::name) == 1 ? name : key;
}

}  // namespace

CsvColumns::CsvColumns(const std::string& path, std::int64_t header_line, std::vector<std::string> names,
                       std::size_t count, const CsvForm& form)
    : path_(path),
      header_line_(std::max<std::int64_t>(header_line, 1)),
      title_(names.size() == count ? 0 : names.size()),
      names_(std::move(names)),
      uses_(count, TableColumn::Use::input) {
  if (names_.size() != count) names_.clear();
  if (!form.trained)
    for (const std::string& column : form.ignore) uses_[find(column)] = TableColumn::Use::ignored;
  const bool by_names = form.trained && find_inputs(*form.trained);
  if (!by_names) require_distinct_names();
  const auto place_of = [&](const std::string& key) {
    return find(by_names ? name_in_training(key, *form.trained) : key);
  };
  for (const std::string& column : form.targets) {
    targets_.push_back(place_of(column));
    if (!form.trained && uses_[targets_.back()] == TableColumn::Use::ignored)
      fail_at(path_, header_line_,
              fmt::format("column {} is the target and in `ignore`", targets_.back() + 1),
              "a target is no input: `ignore` need not name it");
    uses_[targets_.back()] = TableColumn::Use::target;
  }
  if (!form.weight.empty()) {
    weight_ = place_of(form.weight);
    if (uses_[*weight_] == TableColumn::Use::target)
      fail_at(path_, header_line_, fmt::format("column {} is both target and weight", *weight_ + 1),
              "two columns");
    uses_[*weight_] = TableColumn::Use::weight;
  }
  if (inputs_.empty())
    for (std::size_t column = 0; column < count; ++column)
      if (uses_[column] == TableColumn::Use::input) inputs_.push_back(column);
}

std::vector<TableColumn> CsvColumns::description() const {
  std::vector<TableColumn> columns(count());
  for (std::size_t column = 0; column < count(); ++column)
    columns[column] = {.name = names_.empty() ? "" : names_[column], .use = uses_[column]};
  return columns;
}

std::size_t CsvColumns::find(const std::string& key) const {
  const auto found = std::ranges::find(names_, key);
  if (found != names_.end()) {
    const std::size_t column = found - names_.begin();
    const auto second = std::find(found + 1, names_.end(), key);
    if (second != names_.end()) fail_same_name(column, second - names_.begin());
    return column;
  }
  std::size_t number = 0;
  const auto [end, problem] = std::from_chars(key.data(), key.data() + key.size(), number);
  if (problem == std::errc{} && end == key.data() + key.size() && number >= 1 && number <= count())
    return number - 1;
  std::string known;
  for (const std::string& name : names_)
    known += (known.empty() ? "its columns are " : ", ") + in_quotes(name);
  if (known.size() > 1000) known.resize(1000);
  if (known.empty())
    known = title_ == 0 ? "they have no names"
                        : fmt::format("they have no names: the line above them has {} fields", title_);
  std::string help = problem == std::errc{} && end == key.data() + key.size() ? "columns are counted from 1"
                                                                              : suggestion(key, names_);
  if (help.empty() && names_.empty() && count() > 1)
    help = fmt::format("a number from 1 to {}; or `header: 1` in csv, if the first line names the columns",
                       count());
  if (help.empty() && count() == 1)
    help = "separators are comma, semicolon and tab; convert a table with another one";
  throw Error(ExitCode::data,
              {Diagnostic{.what = fmt::format("there is no column {}", in_quotes(key)),
                          .place = path_,
                          .notes = {"it has " + counted(static_cast<std::int64_t>(count()), "column"), known},
                          .help = std::move(help)}});
}

bool CsvColumns::find_inputs(const std::vector<TableColumn>& trained) {
  std::vector<std::size_t> places;
  for (const TableColumn& column : trained) {
    if (column.use != TableColumn::Use::input) continue;
    const auto found = std::ranges::find(names_, column.name);
    if (column.name.empty() || found == names_.end()) return find_places(trained);
    places.push_back(static_cast<std::size_t>(found - names_.begin()));
    if (const auto second = std::find(found + 1, names_.end(), column.name); second != names_.end())
      fail_same_name(places.back(), static_cast<std::size_t>(second - names_.begin()));
  }
  use(places);
  return true;
}

bool CsvColumns::find_places(const std::vector<TableColumn>& trained) {
  if (trained.size() != count())
    fail_at(path_, header_line_, "columns differ from those of training",
            fmt::format("{} columns here, {} in training", count(), trained.size()));
  std::vector<std::size_t> places;
  for (std::size_t column = 0; column < count(); ++column) {
    if (trained[column].use != TableColumn::Use::input) continue;
    const std::string& there = trained[column].name;
    if (!names_.empty() && !names_[column].empty() && !there.empty() && names_[column] != there)
      fail_at(path_, header_line_, "columns differ from those of training",
              fmt::format("column {} is {} here, {} in training", column + 1, in_quotes(names_[column]),
                          in_quotes(there)));
    places.push_back(column);
  }
  use(places);
  return false;
}

void CsvColumns::use(const std::vector<std::size_t>& places) {
  std::ranges::fill(uses_, TableColumn::Use::ignored);
  for (const std::size_t place : places) uses_[place] = TableColumn::Use::input;
  inputs_ = places;
}

void CsvColumns::require_distinct_names() const {
  std::unordered_map<std::string_view, std::size_t> first;
  for (std::size_t column = 0; column < names_.size(); ++column) {
    double number = 0;
    const bool is_named = !names_[column].empty() && !parse_number(names_[column], number);
    if (!is_named || uses_[column] == TableColumn::Use::ignored) continue;
    const auto [entry, is_new] = first.emplace(names_[column], column);
    if (!is_new) fail_same_name(entry->second, column);
  }
}

void CsvColumns::fail_same_name(std::size_t first, std::size_t second) const {
  fail_at(path_, header_line_,
          fmt::format("columns {} and {} are both named {}", first + 1, second + 1, in_quotes(names_[first])),
          "rename one of them, or name one by its number in `ignore`");
}

}  // namespace trainer
