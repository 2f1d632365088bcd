#include "cli/reports/columns.h"

#include <fmt/format.h>

#include <vector>

#include "cli/terminal/text.h"
#include "datasets/readers/table_features.h"
#include "engine/core/escape.h"

namespace trainer {
namespace {

using Kind = TableColumn::Kind;
using Use = TableColumn::Use;

constexpr std::size_t kValueColumns = 60;

std::string name_of(const std::vector<TableColumn>& columns, std::size_t i) {
  return columns[i].name.empty() ? fmt::format("column {}", i + 1) : columns[i].name;
}

std::string type_of(const TableColumn& column) {
  if (column.use == Use::ignored) return "ignored";
  if (column.use == Use::target) return "target";
  if (column.use == Use::weight) return "weight";
  return column.kind == Kind::number ? "number" : column.kind == Kind::boolean ? "boolean" : "category";
}

/// "Fair, Good, Ideal ... and 12 others"
std::string categories_text(const TableColumn& column) {
  std::string text;
  for (std::size_t i = 0; i < column.categories.size(); ++i) {
    const std::string more = (i > 0 ? ", " : "") + escaped(column.categories[i]);
    if (columns_of(text + more) > kValueColumns) {
      text += fmt::format(" ... ({} values)", column.categories.size());
      break;
    }
    text += more;
  }
  if (column.others > 0) text += fmt::format("; others in {}", counted(column.others, "sample"));
  return text;
}

std::string missing_text(const TableColumn& column) {
  if (column.requires_value) return "an error";
  std::string text = column.missing > 0 ? grouped(column.missing) : "";
  if (column.kind == Kind::category || column.missing == 0) return text;
  return text + fmt::format(", {} instead", short_number(column.fill)) +
         (column.has_indicator ? " and marked" : "");
}

}  // namespace

std::string columns_text(const InputForm& form) {
  std::int64_t numbers = 0, booleans = 0, categories = 0, missing = 0;
  std::string ignored;
  for (std::size_t i = 0; i < form.columns.size(); ++i) {
    const TableColumn& column = form.columns[i];
    if (!column.reason.empty())
      ignored += (ignored.empty() ? "; ignored: " : ", ") + name_of(form.columns, i);
    if (column.use != Use::input) continue;
    (column.kind == Kind::number ? numbers : column.kind == Kind::boolean ? booleans : categories) += 1;
    missing += column.missing;
  }
  std::string text;
  const auto add = [&](std::int64_t count, const std::string& what) {
    if (count > 0) text += (text.empty() ? "" : ", ") + what;
  };
  add(numbers, counted(numbers, "number"));
  add(booleans, counted(booleans, "boolean"));
  add(categories, categories == 1 ? "1 category" : fmt::format("{} categories", categories));
  add(missing, counted(missing, "missing value"));
  return text.empty() ? text : "columns: " + text + ignored;
}

std::string columns_table(const InputForm& form) {
  const char* const separator = form.separator == ';'    ? "semicolon"
                                : form.separator == '\t' ? "tab"
                                                         : "comma";
  std::vector<std::vector<std::string>> rows{{"column", "type", "elements", "missing", "values"}};
  for (std::size_t i = 0; i < form.columns.size(); ++i) {
    const TableColumn& column = form.columns[i];
    if (column.use != Use::input) {
      rows.push_back({name_of(form.columns, i), type_of(column), "", "", column.reason});
      continue;
    }
    rows.push_back({name_of(form.columns, i), type_of(column), std::to_string(TableFeatures({column}).size()),
                    missing_text(column), categories_text(column)});
  }
  return fmt::format("separator: {}, header: {}\n", separator, form.header) +
         table(rows, rows.front().size());
}

}  // namespace trainer
