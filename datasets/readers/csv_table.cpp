#include "datasets/readers/csv_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

#include "datasets/readers/byte_reader.h"
#include "engine/core/error.h"

namespace trainer {
namespace {

constexpr std::int64_t kLargest = std::int64_t{1} << 31;  // bytes; more is not kept in memory
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

[[noreturn]] void fail_at(const std::string& path, std::int64_t line, const std::string& what,
                          const std::string& note) {
  throw Error(ExitCode::data,
              {Diagnostic{.what = what, .place = fmt::format("{}:{}", path, line), .notes = {note}}});
}

/// A field as a message shows it.
std::string shown(std::string_view field) {
  constexpr std::size_t kMost = 40;
  std::string text(field.substr(0, kMost));
  for (char& c : text)
    if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') c = '?';
  return '`' + text + (field.size() > kMost ? "...`" : "`");
}

/// Goes through a text by lines and fields. Quotes may hold separators, line ends and doubled quotes.
class CsvText {
 public:
  CsvText(const std::string& path, std::string_view text, char separator)
      : path_(path), text_(text), separator_(separator) {}

  bool at_end() const { return at_ == text_.size(); }
  std::int64_t line() const { return line_; }

  /// The fields of the next line, which line() tells; they are valid until the next call.
  const std::vector<std::string>& next() {
    line_ = next_line_;
    std::size_t count = 0;
    for (bool more = true; more; ++count) {
      if (count == fields_.size()) fields_.emplace_back();
      fields_[count].clear();
      more = text_.substr(at_).starts_with('"') ? quoted(fields_[count]) : plain(fields_[count]);
    }
    fields_.resize(count);
    return fields_;
  }

 private:
  /// True when another field follows in this line.
  bool end_of_field() {
    if (at_end()) return false;
    const char c = text_[at_++];
    if (c == separator_) return true;
    if (c == '\r' && !at_end() && text_[at_] == '\n') ++at_;
    ++next_line_;
    return false;
  }
  bool plain(std::string& field) {
    const std::size_t begin = at_;
    while (!at_end() && text_[at_] != separator_ && text_[at_] != '\n' && text_[at_] != '\r') {
      if (text_[at_] == '"')
        fail_at(path_, line_, "a quote inside a field",
                "a field with a quote in it stands in quotes, and the inner one is doubled");
      if (text_[at_] == '\0') fail_at(path_, line_, "not a text file", "it holds a byte 0");
      ++at_;
    }
    field = text_.substr(begin, at_ - begin);
    return end_of_field();
  }
  bool quoted(std::string& field) {
    for (++at_;; ++at_) {
      if (at_end()) fail_at(path_, line_, "a quote is not closed", "the file ends inside a quoted field");
      if (text_[at_] == '\n') ++next_line_;
      if (text_[at_] != '"') {
        field += text_[at_];
        continue;
      }
      if (!text_.substr(at_ + 1).starts_with('"')) break;
      field += text_[++at_];
    }
    ++at_;
    if (!at_end() && text_[at_] != separator_ && text_[at_] != '\n' && text_[at_] != '\r')
      fail_at(path_, line_, "text after a closing quote", "a quoted field ends with its quote");
    return end_of_field();
  }

  const std::string& path_;
  std::string_view text_;
  char separator_;
  std::size_t at_ = 0;
  std::int64_t line_ = 0, next_line_ = 1;
  std::vector<std::string> fields_;
};

/// Which column a name or a number from 1 means.
std::size_t find_column(const std::string& path, const std::vector<std::string>& names, std::size_t columns,
                        const std::string& wanted) {
  const auto found = std::ranges::find(names, wanted);
  if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
  std::size_t number = 0;
  const auto [end, problem] = std::from_chars(wanted.data(), wanted.data() + wanted.size(), number);
  if (problem == std::errc{} && end == wanted.data() + wanted.size() && number >= 1 && number <= columns)
    return number - 1;
  std::string known;
  for (const std::string& name : names) known += (known.empty() ? "its columns are " : ", ") + shown(name);
  if (known.size() > 1000) known.resize(1000);
  throw Error(ExitCode::data, {Diagnostic{.what = fmt::format("there is no column {}", shown(wanted)),
                                          .place = path,
                                          .notes = {fmt::format("it has {} columns", columns),
                                                    known.empty() ? "they have no names" : known}}});
}

std::string read_whole(const std::string& path, std::string& fingerprint) {
  ByteReader bytes(path);
  fingerprint = bytes.fingerprint();
  if (bytes.size() > kLargest) bytes.fail("CSV file is too large", fmt::format("{} bytes", bytes.size()));
  std::string text(static_cast<std::size_t>(bytes.size()), '\0');
  bytes.read({reinterpret_cast<std::uint8_t*>(text.data()), text.size()});
  bytes.finish();
  return text;
}

/// What a column is for.
enum class Use { number, target, nothing };

}  // namespace

bool parse_number(std::string_view text, double& number) {
  while (text.starts_with(' ') || text.starts_with('\t')) text.remove_prefix(1);
  while (text.ends_with(' ') || text.ends_with('\t')) text.remove_suffix(1);
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  return problem == std::errc{} && end == text.data() + text.size() &&
         std::fabs(number) <= double{std::numeric_limits<float>::max()};
}

void CsvTable::fail(std::int64_t row, const std::string& what, const std::string& expected) const {
  fail_at(path, lines.at(static_cast<std::size_t>(row)), what, expected);
}

CsvTable read_csv(const std::string& path, const CsvForm& form) {
  CsvTable table{.path = path};
  const std::string whole = read_whole(path, table.fingerprint);
  std::string_view text = whole;
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  CsvText csv(path, text, form.separator);
  std::vector<std::string> names;
  for (int line = 0; line < form.header && !csv.at_end(); ++line) names = csv.next();
  std::vector<Use> uses;
  std::vector<std::size_t> target_columns;
  while (!csv.at_end()) {
    const std::vector<std::string>& fields = csv.next();
    if (uses.empty()) {
      uses.assign(fields.size(), Use::number);
      if (names.size() != fields.size()) names.clear();  // it is a title, not the names of columns
      for (const std::string& column : form.ignore)
        uses[find_column(path, names, uses.size(), column)] = Use::nothing;
      for (const std::string& column : form.targets) {
        target_columns.push_back(find_column(path, names, uses.size(), column));
        uses[target_columns.back()] = Use::target;
      }
      table.columns = std::ranges::count(uses, Use::number);
      if (table.columns == 0)
        fail_at(path, csv.line(), "no column is left to learn from", "all are the target or ignored");
    }
    if (fields.size() != uses.size())
      fail_at(path, csv.line(),
              fmt::format("{} field{}, where {} are wanted", fields.size(), fields.size() == 1 ? "" : "s",
                          uses.size()),
              "the first sample has so many");
    for (std::size_t column = 0; column < fields.size(); ++column) {
      const std::string& field = fields[column];
      if (uses[column] != Use::number) continue;
      double number = 0;
      if (!parse_number(field, number))
        fail_at(path, csv.line(), fmt::format("column {} wants a number, got {}", column + 1, shown(field)),
                field.empty() ? "samples with missing numbers have to be completed or taken out"
                              : "a column of other things can be named in `ignore`");
      table.numbers.push_back(static_cast<float>(number));
    }
    for (const std::size_t column : target_columns) table.targets.push_back(fields[column]);
    table.lines.push_back(csv.line());
  }
  if (table.lines.empty())
    fail_at(path, std::max<std::int64_t>(csv.line(), 1), "CSV file holds no sample",
            fmt::format("{} line{} of header, then nothing", form.header, form.header == 1 ? "" : "s"));
  return table;
}

}  // namespace trainer
