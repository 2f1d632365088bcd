#include "datasets/readers/csv_files.h"

#include <unordered_map>

namespace trainer {
namespace {

/// The columns of a table as those of training, so that other files are read alike.
std::vector<TableColumn> columns_like(const CsvTable& table) {
  std::vector<TableColumn> columns = table.columns;
  for (const CsvInput& input : table.inputs)
    columns[input.column].kind = input.is_text ? TableColumn::Kind::category : TableColumn::Kind::number;
  return columns;
}

void append(const CsvInput& more, std::size_t rows, std::size_t more_rows, CsvInput& input) {
  input.numbers.insert(input.numbers.end(), more.numbers.begin(), more.numbers.end());
  if (input.codes.empty() && more.codes.empty()) return;
  input.codes.resize(rows, -1);
  std::unordered_map<std::string, std::int32_t> codes;
  for (const std::string& text : input.texts) codes.emplace(text, static_cast<std::int32_t>(codes.size()));
  std::vector<std::int32_t> here;
  for (const std::string& text : more.texts) {
    const auto [entry, is_new] = codes.emplace(text, static_cast<std::int32_t>(codes.size()));
    if (is_new) input.texts.push_back(text);
    here.push_back(entry->second);
  }
  for (const std::int32_t code : more.codes)
    input.codes.push_back(code < 0 ? -1 : here[static_cast<std::size_t>(code)]);
  input.codes.resize(rows + more_rows, -1);
}

void append(const CsvTable& more, CsvTable& table) {
  const std::size_t rows = table.lines.size(), more_rows = more.lines.size();
  for (std::size_t i = 0; i < table.inputs.size(); ++i)
    append(more.inputs[i], rows, more_rows, table.inputs[i]);
  table.more_files.push_back({more.path, static_cast<std::int64_t>(rows)});
  table.targets.insert(table.targets.end(), more.targets.begin(), more.targets.end());
  table.weights.insert(table.weights.end(), more.weights.begin(), more.weights.end());
  table.lines.insert(table.lines.end(), more.lines.begin(), more.lines.end());
  table.fingerprint += "; " + more.fingerprint;
}

}  // namespace

CsvTable read_csv_files(const std::vector<std::string>& paths, const CsvForm& form) {
  CsvTable table = read_csv(paths.front(), form);
  CsvForm like = form;
  const std::vector<TableColumn> columns = columns_like(table);
  if (!like.trained) like.trained = &columns;
  for (std::size_t i = 1; i < paths.size(); ++i) append(read_csv(paths[i], like), table);
  return table;
}

}  // namespace trainer
