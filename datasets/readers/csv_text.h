#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace trainer {

/// Reads CSV (RFC 4180) record by record, field by field. Quotes may hold separators, line ends and doubled
/// quotes. Error(data) with `path` and line for anything else.
class CsvText {
 public:
  /// `path` and `text` outlive this; `first_line`: the number of the text's first line.
  CsvText(const std::string& path, std::string_view text, char separator, std::int64_t first_line = 1)
      : path_(path), text_(text), separator_(separator), next_line_(first_line) {}

  bool at_end() const { return at_ == text_.size(); }
  /// Of the last record's first line.
  std::int64_t line() const { return line_; }
  /// The fields of the next record. Valid until the next call.
  const std::vector<std::string>& next();

 private:
  [[noreturn]] void fail(const std::string& what, const std::string& note) const;
  /// Moves behind the end of a field; true if another field follows in this record.
  bool end_of_field();
  bool plain(std::string& field);
  bool quoted(std::string& field);

  const std::string& path_;
  std::string_view text_;
  char separator_;
  std::size_t at_ = 0;
  std::int64_t line_ = 0, next_line_;
  std::vector<std::string> fields_;
};

/// Bytes of the first record of a text with its line end; npos if the text ends inside it. A line end at the
/// end of the text counts only if `is_all`, since a \n may follow its \r.
std::size_t record_size(std::string_view text, char separator, bool is_all);

/// Throws Error(data) that points to a line.
[[noreturn]] void fail_at(const std::string& path, std::int64_t line, const std::string& what,
                          const std::string& note);

/// Without spaces and tabs at both ends.
std::string_view without_spaces(std::string_view text);

/// Parses all of a text, but for spaces around it, as a finite number in the range of float; false if it is
/// none.
bool parse_number(std::string_view text, double& number);

/// What UTF-8 files may begin with.
inline constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

}  // namespace trainer
