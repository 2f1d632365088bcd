#include "datasets/readers/csv_text.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <limits>

#include "engine/core/error.h"

namespace trainer {
namespace {

constexpr const char* kByteZero = "it holds a byte 0; a spreadsheet or UTF-16? save it as CSV in UTF-8";
constexpr std::size_t kLongestField = 1 << 20;  // bytes

}  // namespace

void fail_at(const std::string& path, std::int64_t line, const std::string& what, const std::string& note) {
  throw Error(ExitCode::data,
              {Diagnostic{.what = what, .place = fmt::format("{}:{}", path, line), .notes = {note}}});
}

std::string_view without_spaces(std::string_view text) {
  while (text.starts_with(' ') || text.starts_with('\t')) text.remove_prefix(1);
  while (text.ends_with(' ') || text.ends_with('\t')) text.remove_suffix(1);
  return text;
}

bool parse_number(std::string_view text, double& number) {
  text = without_spaces(text);
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem == std::errc::result_out_of_range) {
    // Too small is zero; too large is refused.
    const std::size_t e = text.find_first_of("eE");
    if (e == text.npos || e + 1 == text.size() || text[e + 1] != '-') return false;
    number = 0;
    problem = {};
  }
  return problem == std::errc{} && end == text.data() + text.size() &&
         std::fabs(number) <= double{std::numeric_limits<float>::max()};
}

void CsvText::fail(const std::string& what, const std::string& note) const {
  fail_at(path_, line_, what, note);
}

const std::vector<std::string>& CsvText::next() {
  line_ = next_line_;
  std::size_t count = 0;
  for (bool more = true; more; ++count) {
    if (count == fields_.size()) fields_.emplace_back();
    fields_[count].clear();
    more = text_.substr(at_).starts_with('"') ? quoted(fields_[count]) : plain(fields_[count]);
    if (fields_[count].size() > kLongestField)
      fail(fmt::format("field {} has {} bytes", count + 1, fields_[count].size()),
           fmt::format("{} at most; is a quote missing, or is it no table?", kLongestField));
  }
  fields_.resize(count);
  return fields_;
}

bool CsvText::end_of_field() {
  if (at_end()) return false;
  const char c = text_[at_++];
  if (c == separator_) return true;
  if (c == '\r' && !at_end() && text_[at_] == '\n') ++at_;
  ++next_line_;
  return false;
}

bool CsvText::plain(std::string& field) {
  const std::size_t begin = at_;
  while (!at_end() && text_[at_] != separator_ && text_[at_] != '\n' && text_[at_] != '\r') {
    if (text_[at_] == '"')
      fail("a quote inside a field",
           "a field that holds a quote must be in quotes, with the inner quote doubled");
    if (text_[at_] == '\0') fail("not a text file", kByteZero);
    ++at_;
  }
  field = text_.substr(begin, at_ - begin);
  return end_of_field();
}

bool CsvText::quoted(std::string& field) {
  for (++at_;; ++at_) {
    if (at_end()) fail("a quote is not closed", "the file ends inside a quoted field");
    if (text_[at_] == '\n') ++next_line_;
    if (text_[at_] == '\0') fail("not a text file", kByteZero);
    if (text_[at_] != '"') {
      field += text_[at_];
      continue;
    }
    if (!text_.substr(at_ + 1).starts_with('"')) break;
    field += text_[++at_];
  }
  ++at_;
  if (!at_end() && text_[at_] != separator_ && text_[at_] != '\n' && text_[at_] != '\r')
    fail("text after a closing quote", "a quoted field ends with its quote");
  return end_of_field();
}

std::size_t record_size(std::string_view text, char separator, bool is_all) {
  bool in_quotes = false, at_field = true;  // a quote opens only where a field begins
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (in_quotes) {
      if (c != '"') continue;
      if (text.substr(at + 1).starts_with('"'))
        ++at;
      else
        in_quotes = false;
    } else if (c == '\n') {
      return at + 1;
    } else if (c == '\r') {
      if (at + 1 == text.size() && !is_all) return std::string_view::npos;
      return text.substr(at + 1).starts_with('\n') ? at + 2 : at + 1;
    } else if (c == '"' && at_field) {
      in_quotes = true;
    }
    at_field = c == separator && !in_quotes;
  }
  return is_all && !in_quotes && !text.empty() ? text.size() : std::string_view::npos;
}

}  // namespace trainer
