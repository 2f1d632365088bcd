#include "datasets/readers/csv_layout.h"

#include <algorithm>
#include <set>
#include <vector>

#include "datasets/readers/csv_text.h"
#include "datasets/readers/table_features.h"

namespace trainer {
namespace {

constexpr std::size_t kRecords = 100;  // that are looked at

/// Fields of the first record of a text, which is taken from it.
std::size_t take_record(std::string_view& text, char separator) {
  const std::string_view record = text.substr(0, record_size(text, separator, true));
  text.remove_prefix(record.size());
  std::size_t fields = 1;
  bool in_quotes = false;
  for (const char c : record) {
    if (c == '"') in_quotes = !in_quotes;
    if (c == separator && !in_quotes) ++fields;
  }
  return fields;
}

/// How well a separator fits the first records: 0 if they have one field or differ, more with more fields,
/// and most if the first line has as many.
std::size_t fit_of(std::string_view text, char separator) {
  constexpr std::size_t kFirstAgrees = std::size_t{1} << 62;
  const std::size_t first = take_record(text, separator);
  const std::size_t fields = text.empty() ? first : take_record(text, separator);
  for (std::size_t i = 0; i < kRecords && !text.empty(); ++i)
    if (take_record(text, separator) != fields) return 0;
  if (fields == 1) return 0;
  return fields + (first == fields ? kFirstAgrees : 0);
}

/// The separator of the largest measure above 0; 0 if there is none.
template <class Measure>
char best_separator(const Measure& measure) {
  std::size_t most = 0;
  char best = 0;
  for (const char separator : {',', ';', '\t'})
    if (const std::size_t fit = measure(separator); fit > most) {
      most = fit;
      best = separator;
    }
  return best;
}

char recognised_separator(std::string_view text) {
  if (const char best = best_separator([&](char separator) { return fit_of(text, separator); })) return best;
  // Ragged records: the first line decides.
  const char best = best_separator([text](char separator) {
    std::string_view rest = text;
    return take_record(rest, separator) - 1;
  });
  return best != 0 ? best : ',';
}

enum class Content { missing, number, boolean, text };

Content content_of(const std::string& field) {
  double number = 0;
  if (is_missing(field)) return Content::missing;
  if (parse_number(field, number)) return Content::number;
  return parse_boolean(field) ? Content::boolean : Content::text;
}

/// A text alone in a line, above a record without empty fields.
bool is_title(const std::vector<std::string>& line, const std::vector<std::string>& below) {
  const auto is_empty = [](const std::string& field) { return is_missing(field); };
  return below.size() > 1 && content_of(line.front()) == Content::text &&
         std::all_of(line.begin() + 1, line.end(), is_empty) && std::ranges::none_of(below, is_empty);
}

int recognised_header(const std::string& path, std::string_view text, char separator) {
  CsvText csv(path, text, separator);
  if (csv.at_end()) return 1;
  const std::vector<std::string> first = csv.next();
  std::vector<std::vector<std::string>> others;
  while (!csv.at_end() && others.size() < kRecords) others.push_back(csv.next());
  if (!others.empty() && is_title(first, others.front())) {
    take_record(text, separator);
    return 1 + recognised_header(path, text, separator);
  }
  // Names of some columns only.
  if (!others.empty() && first.size() != others.front().size()) return 1;
  bool has_number = false, is_repeated = false;
  for (std::size_t column = 0; column < first.size(); ++column) {
    const Content own = content_of(first[column]);
    bool all_numbers = true, all_booleans = true, any = false;
    for (const std::vector<std::string>& record : others) {
      if (column >= record.size()) continue;
      const Content content = content_of(record[column]);
      is_repeated = is_repeated || (own == Content::text && record[column] == first[column]);
      if (content == Content::missing) continue;
      any = true;
      all_numbers = all_numbers && content == Content::number;
      all_booleans = all_booleans && content == Content::boolean;
    }
    if (own == Content::text && any && (all_numbers || all_booleans)) return 1;
    has_number = has_number || own == Content::number || own == Content::boolean;
  }
  const bool are_distinct = std::set(first.begin(), first.end()).size() == first.size();
  return has_number || is_repeated || !are_distinct ? 0 : 1;
}

}  // namespace

CsvLayout csv_layout(const std::string& path, std::string_view text, std::optional<char> separator,
                     std::optional<int> header) {
  CsvLayout layout;
  layout.separator = separator ? *separator : recognised_separator(text);
  layout.header = header ? *header : recognised_header(path, text, layout.separator);
  return layout;
}

}  // namespace trainer
