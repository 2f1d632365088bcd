#include "datasets/readers/column_types.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "datasets/readers/csv_text.h"
#include "engine/config/source.h"
#include "engine/core/error.h"

namespace trainer {
namespace {

constexpr std::size_t kFewTexts = 16;  // may all be different, and are categories

std::string named(const CsvTable& table, const CsvInput& input) {
  const std::string& name = table.columns[input.column].name;
  return fmt::format("column {}{}", input.column + 1,
                     name.empty() ? "" : fmt::format(" {}", in_quotes(name)));
}

/// The first row with this text.
std::int64_t row_of(const CsvInput& input, std::int32_t code) {
  return std::ranges::find(input.codes, code) - input.codes.begin();
}

bool are_booleans(const CsvInput& input) {
  return std::ranges::all_of(input.texts,
                             [](const std::string& text) { return parse_boolean(text).has_value(); });
}

bool has_decimal_comma(std::string text) {
  const std::size_t comma = text.find(',');
  if (comma == std::string::npos) return false;
  text[comma] = '.';
  double number = 0;
  return parse_number(text, number);
}

/// Numbers, booleans and missing values of the training rows.
void fill_values(const CsvInput& input, std::span<const std::int64_t> training, const ColumnRules& rules,
                 TableColumn& column) {
  double sum = 0;
  std::int64_t count = 0;
  for (const std::int64_t row : training) {
    if (input.is_missing(static_cast<std::size_t>(row))) {
      ++column.missing;
      continue;
    }
    const std::int32_t code = input.codes.empty() ? -1 : input.codes[row];
    sum += code < 0 ? double{input.numbers[row]} : double{*parse_boolean(input.texts[code])};
    ++count;
  }
  if (count == 0) return;
  column.fill = rules.missing == ColumnRules::Missing::constant
                    ? rules.constant
                    : static_cast<float>(sum / static_cast<double>(count));
  column.has_indicator = rules.missing == ColumnRules::Missing::indicator && column.missing > 0;
}

/// The most frequent categories of the training rows. Returns how many there are.
std::size_t fill_categories(const CsvInput& input, std::span<const std::int64_t> training,
                            const ColumnRules& rules, TableColumn& column) {
  std::vector<std::int64_t> counts(input.texts.size());
  for (const std::int64_t row : training)
    if (input.codes[row] < 0)
      ++column.missing;
    else
      ++counts[input.codes[row]];
  std::vector<std::size_t> order;
  for (std::size_t code = 0; code < counts.size(); ++code)
    if (counts[code] > 0) order.push_back(code);
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
    return counts[a] != counts[b] ? counts[a] > counts[b] : input.texts[a] < input.texts[b];
  });
  std::set<std::string> kept;
  for (std::size_t i = 0; i < order.size(); ++i)
    if (i < static_cast<std::size_t>(rules.max_categories))
      kept.insert(input.texts[order[i]]);
    else
      column.others += counts[order[i]];
  column.categories = in_order(kept);
  return order.size();
}

}  // namespace

std::vector<std::string> in_order(const std::set<std::string>& distinct) {
  std::vector<std::string> names(distinct.begin(), distinct.end());
  const auto number = [](const std::string& text, std::int64_t& value) {
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
    return problem == std::errc{} && end == text.data() + text.size();
  };
  std::int64_t ignored = 0;
  if (std::ranges::all_of(names, [&](const std::string& text) { return number(text, ignored); }))
    std::ranges::sort(names, [&](const std::string& a, const std::string& b) {
      std::int64_t left = 0, right = 0;
      number(a, left);
      number(b, right);
      return left != right ? left < right : a < b;
    });
  return names;
}

std::set<std::size_t> mixed_columns(const CsvTable& table) {
  std::set<std::size_t> mixed;
  for (const CsvInput& input : table.inputs) {
    if (input.texts.empty()) continue;
    if (input.must_be_number)
      table.fail(
          row_of(input, 0),
          fmt::format("{} requires a number, got {}", named(table, input), in_quotes(input.texts.front())),
          "`numbers` names it");
    std::int64_t texts = 0, commas = 0;
    std::vector<bool> have_comma;
    for (const std::string& text : input.texts) have_comma.push_back(has_decimal_comma(text));
    for (const std::int32_t code : input.codes) {
      texts += code >= 0 ? 1 : 0;
      commas += code >= 0 && have_comma[code] ? 1 : 0;
    }
    if (2 * commas > texts && !input.is_text) {
      const auto first = static_cast<std::int32_t>(std::ranges::find(have_comma, true) - have_comma.begin());
      table.fail(row_of(input, first),
                 fmt::format("{} holds numbers with a comma: {}", named(table, input),
                             in_quotes(input.texts[first])),
                 "a decimal point; or name the column in `categories` or `ignore`");
    }
    const auto numbers =
        std::ranges::count_if(input.numbers, [](float number) { return !std::isnan(number); });
    if (numbers == 0) continue;
    if (numbers > texts)
      table.fail(
          row_of(input, 0),
          fmt::format("{} requires a number, got {}", named(table, input), in_quotes(input.texts.front())),
          fmt::format(
              "{} of {} fields are numbers: correct the others, leave them empty, or name the column in "
              "`categories` or `ignore`",
              numbers, numbers + texts));
    mixed.insert(input.column);
  }
  return mixed;
}

void set_types(CsvTable& table, std::span<const std::int64_t> training, const ColumnRules& rules) {
  for (const CsvInput& input : table.inputs) {
    TableColumn& column = table.columns[input.column];
    const auto ignore = [&](const std::string& reason) {
      column.use = TableColumn::Use::ignored;
      column.reason = reason;
    };
    column.requires_value = rules.missing == ColumnRules::Missing::error;
    if (!input.is_text && (input.texts.empty() || are_booleans(input))) {
      column.kind = input.texts.empty() ? TableColumn::Kind::number : TableColumn::Kind::boolean;
      fill_values(input, training, rules, column);
    } else {
      column.kind = TableColumn::Kind::category;
      const std::size_t distinct = fill_categories(input, training, rules, column);
      const std::int64_t values = std::ssize(training) - column.missing;
      if (!input.must_be_category && distinct > kFewTexts && std::cmp_greater(2 * distinct, values))
        ignore(fmt::format("{} different texts in {} samples", distinct, values));
    }
    if (column.missing == std::ssize(training) && !column.requires_value) ignore("no value");
  }
  std::erase_if(table.inputs, [&](const CsvInput& input) {
    return table.columns[input.column].use == TableColumn::Use::ignored;
  });
  if (table.inputs.empty())
    table.fail(0, "no input column is left",
               "the others are targets, ignored, or without a value that samples share");
}

}  // namespace trainer
