#include "cli/templates/table_target.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "cli/terminal/text.h"
#include "datasets/readers/csv_layout.h"
#include "datasets/readers/csv_text.h"
#include "datasets/readers/known_files.h"
#include "datasets/readers/table_features.h"
#include "datasets/readers/text_file.h"
#include "engine/core/error.h"
#include "engine/core/utf8.h"

namespace trainer {
namespace {

constexpr std::size_t kRows = 20'000;  // that are looked at
constexpr std::size_t kFewClasses = 20;

/// What the fields of a column have in common.
struct Column {
  std::string name;
  std::set<std::string> values;
  bool has_missing = false, has_texts = false, has_fractions = false, counts_up = true;
  double last = 0;

  void add(const std::string& field, bool is_first) {
    double number = 0;
    if (is_missing(field)) {
      has_missing = true;
      counts_up = false;
    } else if (!parse_number(field, number)) {
      has_texts = true;
      counts_up = false;
    } else {
      has_fractions = has_fractions || number != std::floor(number);
      counts_up = counts_up && (is_first || number == last + 1);
      last = number;
    }
    values.emplace(without_spaces(field));
  }
  bool is_index(std::size_t rows) const { return counts_up && rows > 2; }
  /// Whether each class could have several rows.
  bool repeats(std::size_t rows) const { return values.size() > 1 && values.size() * 2 <= rows; }
  bool has_numbers() const { return !has_texts && (has_fractions || values.size() > kFewClasses); }
  bool can_be_target(std::size_t rows) const {
    return !has_missing && !is_index(rows) && (has_numbers() ? values.size() > 1 : repeats(rows));
  }
  bool is_named_target() const {
    std::string lower = name;
    std::ranges::transform(lower, lower.begin(),
                           [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
    constexpr std::array kNames{"target", "label", "class", "outcome"};
    return std::ranges::count(kNames, lower) > 0;
  }
};

/// A column's name where a config can mean it by that, else its number from 1.
std::vector<std::string> references(const std::vector<Column>& columns) {
  std::map<std::string, int> uses;
  for (const Column& column : columns) ++uses[column.name];
  std::vector<std::string> names;
  for (const Column& column : columns) {
    double number = 0;
    const bool is_clear = !column.name.empty() && uses[column.name] == 1 &&
                          !parse_number(column.name, number) && column.name[0] != '$' && is_utf8(column.name);
    names.push_back(is_clear ? column.name : std::to_string(names.size() + 1));
  }
  return names;
}

}  // namespace

TableTarget table_target(const std::string& path) {
  const std::string existing = existing_file(path);
  ByteReader file(existing.empty() ? path : existing);
  std::string text = content_of(file);
  if (text.starts_with(kByteOrderMark)) text.erase(0, kByteOrderMark.size());
  const CsvLayout layout = csv_layout(path, text, std::nullopt, std::nullopt);
  CsvText csv(path, text, layout.separator);
  std::vector<std::string> names;
  for (int line = 0; line < layout.header && !csv.at_end(); ++line) names = csv.next();
  std::vector<Column> columns;
  std::size_t rows = 0;
  while (!csv.at_end() && rows < kRows) {
    const std::vector<std::string>& fields = csv.next();
    if (fields.size() == 1 && without_spaces(fields[0]).empty()) continue;
    if (columns.empty()) columns.resize(fields.size());
    for (std::size_t i = 0; i < std::min(fields.size(), columns.size()); ++i)
      columns[i].add(fields[i], rows == 0);
    ++rows;
  }
  if (names.size() == columns.size())
    for (std::size_t i = 0; i < columns.size(); ++i) columns[i].name = without_spaces(names[i]);

  TableTarget result{.columns = references(columns)};
  std::optional<std::size_t> chosen;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].is_index(rows)) result.ignored.push_back(result.columns[i]);
    if (!columns[i].can_be_target(rows) || (result.is_named && !columns[i].is_named_target())) continue;
    chosen = i;
    result.is_named = columns[i].is_named_target();
  }
  // A column that counts up is an input all the same if there is no other: a year, for example.
  if (columns.size() - result.ignored.size() < 2) result.ignored.clear();
  if (!chosen || columns.size() < 2)
    throw Error(
        ExitCode::data,
        {Diagnostic{
            .what = "no column can be a target",
            .place = path,
            .notes = {fmt::format("{} and {} were read", counted(static_cast<std::int64_t>(rows), "row"),
                                  counted(std::ssize(columns), "column")),
                      "a target has values in all rows, and other columns beside it; classes have several "
                      "rows each"},
            .help = "is it a table with a line for each sample?"}});
  const Column& target = columns[*chosen];
  result.column = result.columns[*chosen];
  result.has_numbers = target.has_numbers();
  result.classes = std::ssize(target.values);
  return result;
}

}  // namespace trainer
