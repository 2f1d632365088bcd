#pragma once

#include <cassert>
#include <cstring>
#include <optional>
#include <span>

#include "datasets/dataset.h"
#include "datasets/readers/packing.h"

namespace trainer {

/// Bytes of memory that one token of a vocabulary takes: 1, 2 or 4.
inline int token_width(int vocabulary) { return vocabulary <= 1 << 8 ? 1 : vocabulary <= 1 << 16 ? 2 : 4; }

/// The tokens of a text, in memory that the ranks of a host share.
class StoredTokens {
 public:
  /// `width`: bytes of one token.
  StoredTokens(std::span<const std::uint8_t> memory, int width) : memory_(memory), width_(width) {}

  /// Calls visit(i, token) for tokens [first, first + count), i from 0.
  template <class Visit>
  void visit(std::int64_t first, std::int64_t count, Visit visit) const {
    const std::uint8_t* const begin = memory_.data() + first * width_;
    assert((first + count) * width_ <= std::ssize(memory_));
    if (width_ == 1) return visit_as<std::uint8_t>(begin, count, visit);
    if (width_ == 2) return visit_as<std::uint16_t>(begin, count, visit);
    return visit_as<std::uint32_t>(begin, count, visit);
  }

 private:
  template <class Stored, class Visit>
  static void visit_as(const std::uint8_t* begin, std::int64_t count, Visit visit) {
    for (std::int64_t i = 0; i < count; ++i) {
      Stored token;
      std::memcpy(&token, begin + i * std::int64_t{sizeof token}, sizeof token);
      visit(i, token);
    }
  }

  std::span<const std::uint8_t> memory_;
  int width_;
};

/// Consecutive tokens that are one sample. The token behind each of them exists: it is a label.
struct TokenRange {
  std::int64_t first = 0;
  std::int32_t length = 0;
};

/// Sequences of a text. The label of each position is the next token (language modelling).
class TextWindows : public Dataset {
 public:
  /// How a text is cut: tokens [first, last) into windows of `length` that begin `stride` apart; or into
  /// lines of at most `length` tokens, padded, of which several share a sample if they are packed.
  struct Cut {
    std::int64_t first = 0, last = 0, length = 0, stride = 0;
    std::optional<std::span<const TokenRange>> lines = {};
    bool packs_lines = false;
    /// Windows that it gives.
    std::int64_t windows() const;
  };
  /// `tokens` is filled in once the text is in memory; it and the tokenizer outlive this.
  TextWindows(const Cut& cut, const Tokenizer& tokenizer, const std::optional<StoredTokens>& tokens);

  std::int64_t length(std::int64_t index) const override;
  void read_positions(std::int64_t index, std::span<std::int32_t> positions) const override;
  void read(std::span<const std::int64_t> indices, Tensor x) const override;
  void read_labels(std::span<const std::int64_t> indices, std::span<std::int32_t> labels) const override;
  std::unique_ptr<Dataset> subset(double begin, double end, bool apart) const override;

 protected:
  const Cut& cut() const { return cut_; }

 private:
  TextWindows(const Cut& cut, Packing rows, const Tokenizer& tokenizer,
              const std::optional<StoredTokens>& tokens);
  /// visit(tokens, where they begin in the sample) for each part of a sample that follows on in the text.
  template <class Visit>
  void for_each_range(std::int64_t index, Visit visit) const;

  Cut cut_;
  Packing rows_;  ///< of packed lines
  const std::optional<StoredTokens>& tokens_;
};

}  // namespace trainer
