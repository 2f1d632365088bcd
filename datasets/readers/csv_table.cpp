#include "datasets/readers/csv_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>
#include <unordered_map>

#include "datasets/readers/byte_reader.h"
#include "datasets/readers/csv_text.h"
#include "engine/config/source.h"
#include "engine/core/error.h"

namespace trainer {
namespace {

constexpr std::int64_t kLargest = std::int64_t{1} << 31;  // bytes; more is not kept in memory

/// The columns of a table and what each is used for.
class Columns {
 public:
  using Use = TableColumn::Use;

  /// `names` may be of another length: then it is a title, and columns have numbers only.
  Columns(const std::string& path, std::int64_t header_line, std::vector<std::string> names,
          std::size_t count, const CsvForm& form)
      : path_(path),
        header_line_(std::max<std::int64_t>(header_line, 1)),
        names_(std::move(names)),
        uses_(count, Use::input) {
    if (names_.size() != count) names_.clear();
    for (const std::string& column : form.ignore) uses_[find(column)] = Use::ignored;
    require_distinct_names();
    for (const std::string& column : form.targets) {
      targets_.push_back(find(column));
      uses_[targets_.back()] = Use::target;
    }
  }

  std::size_t count() const { return uses_.size(); }
  std::int64_t inputs() const { return std::ranges::count(uses_, Use::input); }
  bool is_input(std::size_t column) const { return uses_[column] == Use::input; }
  /// From 0, in the order of CsvForm::targets.
  const std::vector<std::size_t>& targets() const { return targets_; }
  /// All of them, in the order of the file.
  std::vector<TableColumn> description() const {
    std::vector<TableColumn> columns(count());
    for (std::size_t column = 0; column < count(); ++column)
      columns[column] = {names_.empty() ? "" : names_[column], uses_[column]};
    return columns;
  }

 private:
  /// The column that a name, or a number from 1, means.
  std::size_t find(const std::string& key) const {
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
    throw Error(ExitCode::data, {Diagnostic{.what = fmt::format("there is no column {}", in_quotes(key)),
                                            .place = path_,
                                            .notes = {fmt::format("it has {} columns", count()),
                                                      known.empty() ? "they have no names" : known}}});
  }
  /// Columns without a name, or with a number for a name, and ignored columns may be alike.
  void require_distinct_names() const {
    std::unordered_map<std::string_view, std::size_t> first;
    for (std::size_t column = 0; column < names_.size(); ++column) {
      double number = 0;
      const bool is_named = !names_[column].empty() && !parse_number(names_[column], number);
      if (!is_named || uses_[column] == Use::ignored) continue;
      const auto [entry, is_new] = first.emplace(names_[column], column);
      if (!is_new) fail_same_name(entry->second, column);
    }
  }
  [[noreturn]] void fail_same_name(std::size_t first, std::size_t second) const {
    fail_at(
        path_, header_line_,
        fmt::format("columns {} and {} are both named {}", first + 1, second + 1, in_quotes(names_[first])),
        "rename one of them, or name one by its number in `ignore`");
  }

  const std::string& path_;
  std::int64_t header_line_;
  std::vector<std::string> names_;
  std::vector<Use> uses_;
  std::vector<std::size_t> targets_;
};

/// Error(data) if a label is missing; tables write missing values as empty fields or as NaN.
void require_label(const CsvText& csv, const std::string& path, std::size_t column, std::string_view label) {
  std::string lower(label);
  std::ranges::transform(lower, lower.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (lower.empty() || lower == "nan" || lower == "-nan" || lower == "+nan")
    fail_at(path, csv.line(), fmt::format("column {} requires a label, got {}", column + 1, in_quotes(label)),
            "complete the samples without a label or remove them");
}

std::string read_whole(const std::string& path, std::string& fingerprint) {
  ByteReader bytes(path);
  fingerprint = bytes.fingerprint();
  if (bytes.size() > kLargest) bytes.fail("CSV file is too large", fmt::format("{} bytes", bytes.size()));
  std::string text(bytes.size(), '\0');
  bytes.read({reinterpret_cast<std::uint8_t*>(text.data()), text.size()});
  bytes.finish();
  return text;
}

}  // namespace

void CsvTable::fail(std::int64_t row, const std::string& what, const std::string& expected) const {
  fail_at(path, lines.at(row), what, expected);
}

CsvTable read_csv(const std::string& path, const CsvForm& form) {
  CsvTable table{.path = path};
  const std::string whole = read_whole(path, table.fingerprint);
  std::string_view text = whole;
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  CsvText csv(path, text, form.separator);
  std::vector<std::string> names;
  for (int line = 0; line < form.header && !csv.at_end(); ++line) names = csv.next();
  for (std::string& name : names) name = std::string(without_spaces(name));
  const std::int64_t header_line = csv.line();
  std::optional<Columns> columns;
  while (!csv.at_end()) {
    const std::vector<std::string>& fields = csv.next();
    if (!columns) {
      columns.emplace(path, header_line, names, fields.size(), form);
      for (const std::size_t column : columns->targets()) table.target_columns.push_back(column + 1);
      table.columns = columns->inputs();
      table.description = columns->description();
      if (table.columns == 0)
        fail_at(path, csv.line(), "no input column is left", "all columns are targets or ignored");
    }
    if (fields.size() != columns->count())
      fail_at(path, csv.line(),
              fmt::format("{} field{}, {} expected", fields.size(), fields.size() == 1 ? "" : "s",
                          columns->count()),
              "all lines must have as many fields as the first sample");
    for (std::size_t column = 0; column < fields.size(); ++column) {
      if (!columns->is_input(column)) continue;
      const std::string& field = fields[column];
      double number = 0;
      if (!parse_number(field, number))
        fail_at(path, csv.line(),
                fmt::format("column {} requires a number, got {}", column + 1, in_quotes(field)),
                field.empty() ? "complete the samples with missing values or remove them"
                              : "name a column of other values in `ignore`");
      table.values.push_back(static_cast<float>(number));
    }
    for (const std::size_t column : columns->targets()) {
      const std::string_view target = without_spaces(fields[column]);
      if (form.has_labels) require_label(csv, path, column, target);
      table.targets.emplace_back(target);
    }
    table.lines.push_back(csv.line());
  }
  if (table.lines.empty())
    fail_at(path, std::max<std::int64_t>(csv.line(), 1), "CSV file holds no sample",
            fmt::format("nothing follows {} line{} of header", form.header, form.header == 1 ? "" : "s"));
  return table;
}

}  // namespace trainer
