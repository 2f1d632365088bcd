#include "datasets/readers/csv_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <unordered_map>

#include "datasets/readers/byte_reader.h"
#include "datasets/readers/csv_layout.h"
#include "datasets/readers/csv_text.h"
#include "engine/config/source.h"
#include "engine/core/counted.h"
#include "engine/core/error.h"

namespace trainer {
namespace {

constexpr std::int64_t kLargest = std::int64_t{1} << 31;  // bytes; more is not kept in memory

/// Takes the fields of an input column.
class InputBuilder {
 public:
  explicit InputBuilder(CsvInput& input) : input_(input) {}

  void add(std::string_view field) {
    field = without_spaces(field);
    const bool missing = is_missing(field);
    double number = 0;
    const bool is_number = !input_.is_text && !missing && parse_number(field, number);
    if (!input_.is_text)
      input_.numbers.push_back(is_number ? static_cast<float>(number)
                                         : std::numeric_limits<float>::quiet_NaN());
    const bool is_text = !missing && !is_number;
    if (is_text && input_.codes.empty()) input_.codes.resize(rows_, -1);
    ++rows_;
    if (is_text || !input_.codes.empty()) input_.codes.push_back(is_text ? code_of(field) : -1);
  }
  /// After the last field.
  void finish() {
    if (input_.is_text) input_.codes.resize(rows_, -1);
  }

 private:
  std::int32_t code_of(std::string_view text) {
    const auto [entry, is_new] = codes_.emplace(text, static_cast<std::int32_t>(input_.texts.size()));
    if (is_new) input_.texts.emplace_back(text);
    return entry->second;
  }

  CsvInput& input_;
  std::size_t rows_ = 0;
  std::unordered_map<std::string, std::int32_t> codes_;
};

/// The input columns without fields.
std::vector<CsvInput> inputs_of(const CsvColumns& columns, const CsvForm& form) {
  std::vector<CsvInput> inputs;
  for (const std::size_t column : columns.inputs())
    inputs.push_back({.column = column, .is_text = form.texts.contains(column)});
  if (form.trained) {
    for (std::size_t i = 0; const TableColumn& column : *form.trained)
      if (column.use == TableColumn::Use::input)
        inputs[i++].is_text = column.kind == TableColumn::Kind::category;
    return inputs;
  }
  const auto named = [&](const std::vector<std::string>& keys, const auto& change) {
    for (const std::string& key : keys)
      for (const std::size_t column = columns.find(key); CsvInput & input : inputs)
        if (input.column == column) change(input);
  };
  named(form.categories, [](CsvInput& input) { input.is_text = input.must_be_category = true; });
  named(form.numbers, [](CsvInput& input) { input.must_be_number = true; });
  return inputs;
}

void require_label(const CsvText& csv, const std::string& path, std::size_t column, std::string_view label) {
  if (is_missing(label))
    fail_at(path, csv.line(), fmt::format("column {} requires a label, got {}", column + 1, in_quotes(label)),
            "complete the samples without a label or remove them");
}

float weight_of(const CsvText& csv, const std::string& path, std::size_t column, std::string_view field) {
  double weight = 0;
  if (!parse_number(field, weight) || !(weight >= 0 && weight <= std::numeric_limits<float>::max()))
    fail_at(path, csv.line(),
            fmt::format("column {} requires a weight of at least 0, got {}", column + 1, in_quotes(field)),
            "a weight of 0 leaves the sample out of the loss");
  return static_cast<float>(weight);
}

bool is_blank(const std::vector<std::string>& fields) {
  return fields.size() == 1 && without_spaces(fields.front()).empty();
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
  const std::string* file = &path;
  for (const auto& [more, first] : more_files)
    if (row >= first) file = &more;
  fail_at(*file, lines.at(row), what, expected);
}

bool CsvInput::is_missing(std::size_t row) const {
  return (codes.empty() || codes[row] < 0) && (is_text || std::isnan(numbers[row]));
}

CsvTable read_csv(const std::string& path, const CsvForm& form) {
  CsvTable table{.path = path};
  const std::string whole = read_whole(path, table.fingerprint);
  std::string_view text = whole;
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  const CsvLayout layout = csv_layout(path, text, form.separator, form.header);
  table.separator = layout.separator;
  table.header = layout.header;
  CsvText csv(path, text, layout.separator);
  std::vector<std::string> names;
  for (int line = 0; line < layout.header && !csv.at_end(); ++line) names = csv.next();
  for (std::string& name : names) name = std::string(without_spaces(name));
  const std::int64_t header_line = csv.line();
  std::optional<CsvColumns> columns;
  std::vector<InputBuilder> builders;
  const auto settle = [&](std::size_t count) {
    columns.emplace(path, header_line, names, count, form);
    for (const std::size_t column : columns->targets()) table.target_columns.push_back(column + 1);
    table.columns = columns->description();
    table.inputs = inputs_of(*columns, form);
    for (CsvInput& input : table.inputs) builders.emplace_back(input);
    if (table.inputs.empty())
      fail_at(path, csv.line(), "no input column is left", "all columns are targets or ignored");
  };
  while (!csv.at_end()) {
    const std::vector<std::string>& fields = csv.next();
    if (is_blank(fields)) continue;
    if (!columns) settle(fields.size());
    if (fields.size() != columns->count())
      fail_at(path, csv.line(),
              fmt::format("{}, {} expected", counted(std::ssize(fields), "field"), columns->count()),
              "all lines must have as many fields as the first sample");
    for (std::size_t i = 0; i < builders.size(); ++i) builders[i].add(fields[table.inputs[i].column]);
    for (const std::size_t column : columns->targets()) {
      const std::string_view target = without_spaces(fields[column]);
      if (form.has_labels) require_label(csv, path, column, target);
      table.targets.emplace_back(target);
    }
    if (const auto column = columns->weight())
      table.weights.push_back(weight_of(csv, path, *column, without_spaces(fields[*column])));
    table.lines.push_back(csv.line());
  }
  if (table.lines.empty())
    fail_at(path, std::max<std::int64_t>(csv.line(), 1), "CSV file holds no sample",
            fmt::format("nothing follows {} of header", counted(layout.header, "line")));
  for (InputBuilder& builder : builders) builder.finish();
  return table;
}

std::vector<float> cells_of(const CsvTable& table, const TableFeatures& features) {
  const std::size_t inputs = table.inputs.size(), rows = table.lines.size();
  std::vector<float> cells(rows * inputs);
  for (std::size_t i = 0; i < inputs; ++i) {
    const CsvInput& input = table.inputs[i];
    const auto fail = [&](std::size_t row, std::string_view field) {
      const auto [what, right] = features.problem(i, input.column + 1, field);
      table.fail(static_cast<std::int64_t>(row), what, right);
    };
    const std::optional<float> missing = features.cell(i, "");
    std::vector<std::optional<float>> of_texts;
    for (const std::string& text : input.texts) of_texts.push_back(features.cell(i, text));
    for (std::size_t row = 0; row < rows; ++row) {
      float& cell = cells[row * inputs + i];
      if (input.is_missing(row)) {
        if (!missing) fail(row, "");
        cell = *missing;
      } else if (!input.codes.empty() && input.codes[row] >= 0) {
        const auto code = static_cast<std::size_t>(input.codes[row]);
        if (!of_texts[code]) fail(row, input.texts[code]);
        cell = *of_texts[code];
      } else {
        cell = input.numbers[row];
        const bool is_boolean = features.column(i).kind == TableColumn::Kind::boolean;
        if (is_boolean && cell != 0 && cell != 1) fail(row, fmt::format("{}", cell));
      }
    }
  }
  return cells;
}

}  // namespace trainer
