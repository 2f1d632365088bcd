#include "datasets/readers/word_splitter.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <stdexcept>

#include "engine/core/utf8.h"

namespace trainer {
namespace {

/// The pattern of GPT-2's encoder.py. White_Space is what its \s means beyond ASCII.
constexpr char kWords[] = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\p{White_Space}\p{L}\p{N}]+)"
                          R"(|\p{White_Space}+(?!\P{White_Space})|\p{White_Space}+)";

/// Where the characters that begin at `at` end.
std::size_t valid_end(std::string_view text, std::size_t at) {
  while (at < text.size() && next_character(text, at) != kNoCharacter) {
  }
  return at;
}

}  // namespace

struct WordSplitter::Pattern {
  Pattern() {
    int error = 0;
    PCRE2_SIZE place = 0;
    code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(kWords), PCRE2_ZERO_TERMINATED, PCRE2_UTF | PCRE2_UCP,
                         &error, &place, nullptr);
    if (code == nullptr) throw std::logic_error("PCRE2 does not know the pattern of words");
    pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);  // where it can
  }
  ~Pattern() { pcre2_code_free(code); }
  Pattern(const Pattern&) = delete;
  Pattern& operator=(const Pattern&) = delete;

  pcre2_code* code;
};

WordSplitter::WordSplitter() : pattern_(std::make_unique<Pattern>()) {}
WordSplitter::~WordSplitter() = default;
WordSplitter::WordSplitter(WordSplitter&&) noexcept = default;

void WordSplitter::split(std::string_view text, const std::function<void(std::string_view)>& visit) const {
  const std::unique_ptr<pcre2_match_data, void (*)(pcre2_match_data*)> match(
      pcre2_match_data_create_from_pattern(pattern_->code, nullptr), pcre2_match_data_free);
  for (std::size_t at = 0; at < text.size();) {
    // PCRE2 checks UTF-8 from the start of each match to the end of the text, so it is checked here, once.
    const std::string_view valid = text.substr(at, valid_end(text, at) - at);
    for (std::size_t begin = 0; begin < valid.size();) {
      const int found = pcre2_match(pattern_->code, reinterpret_cast<PCRE2_SPTR>(valid.data()), valid.size(),
                                    begin, PCRE2_NO_UTF_CHECK | PCRE2_ANCHORED, match.get(), nullptr);
      if (found <= 0) throw std::logic_error("a text has a place where no word begins");
      const std::size_t end = pcre2_get_ovector_pointer(match.get())[1];
      visit(valid.substr(begin, end - begin));
      begin = end;
    }
    at += valid.size();
    if (at < text.size()) visit(text.substr(at++, 1));
  }
}

}  // namespace trainer
