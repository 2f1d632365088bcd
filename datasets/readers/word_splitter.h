#pragma once

#include <functional>
#include <memory>
#include <string_view>

namespace trainer {

/// Splits a text into the words within which byte-pair encoding merges, by the rule of GPT-2 (Radford et al.
/// 2019): an English ending such as 's; a run of letters, of digits or of other characters with at most one
/// space before it; or a run of spaces without its last one, which belongs to the next word. Classes are
/// those of Unicode. A byte that is not UTF-8 is a word of its own.
class WordSplitter {
 public:
  WordSplitter();
  ~WordSplitter();
  WordSplitter(WordSplitter&&) noexcept;

  /// Calls visit(word) for all words of a text, whose bytes they are, in order.
  void split(std::string_view text, const std::function<void(std::string_view)>& visit) const;

 private:
  struct Pattern;

  std::unique_ptr<Pattern> pattern_;
};

}  // namespace trainer
