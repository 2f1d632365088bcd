#include "datasets/readers/text_windows.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace trainer {
namespace {

DatasetInfo info_of(const TextWindows::Cut& cut, const Tokenizer& tokenizer) {
  return {.size = cut.samples(),
          .sample = {cut.length},
          .classes = tokenizer.vocabulary(),
          .positions = cut.length,
          .vocabulary = tokenizer.vocabulary(),
          .tokenizer = &tokenizer,
          .has_lengths = cut.lines.has_value()};
}

}  // namespace

std::int64_t TextWindows::Cut::samples() const {
  if (lines) return std::ssize(*lines);
  const std::int64_t rest = last - first - length - 1;  // a window's last label is the token behind it
  return rest < 0 ? 0 : rest / stride + 1;
}

TextWindows::TextWindows(const Cut& cut, const Tokenizer& tokenizer,
                         const std::optional<StoredTokens>& tokens)
    : Dataset(info_of(cut, tokenizer)), cut_(cut), tokens_(tokens) {}

TokenRange TextWindows::range_of(std::int64_t index) const {
  if (index < 0 || index >= size()) throw std::logic_error("a sample index out of range");
  if (cut_.lines) return (*cut_.lines)[index];
  return {cut_.first + index * cut_.stride, static_cast<std::int32_t>(cut_.length)};
}

void TextWindows::read(std::span<const std::int64_t> indices, Tensor x) const {
  float* to = x.data();
  for (const std::int64_t index : indices) {
    const TokenRange range = range_of(index);
    tokens_->visit(range.first, range.length,
                   [to](std::int64_t i, auto token) { to[i] = static_cast<float>(token); });
    std::fill(to + range.length, to + cut_.length, 0.0f);
    to += cut_.length;
  }
}

void TextWindows::read_labels(std::span<const std::int64_t> indices, std::span<std::int32_t> labels) const {
  std::int32_t* to = labels.data();
  for (const std::int64_t index : indices) {
    const TokenRange range = range_of(index);
    tokens_->visit(range.first + 1, range.length,
                   [to](std::int64_t i, auto token) { to[i] = static_cast<std::int32_t>(token); });
    std::fill(to + range.length, to + cut_.length, 0);
    to += cut_.length;
  }
}

std::unique_ptr<Dataset> TextWindows::subset(double begin, double end, bool apart) const {
  const auto place = [](double share, std::int64_t count) {
    return std::llround(share * static_cast<double>(count));
  };
  Cut part = cut_;
  if (cut_.lines) {
    const std::size_t first = place(begin, size());
    part.lines = cut_.lines->subspan(first, place(end, size()) - first);
  } else {
    part.first = cut_.first + place(begin, cut_.last - cut_.first);
    part.last = cut_.first + place(end, cut_.last - cut_.first);
  }
  if (apart) part.stride = part.length;
  return std::make_unique<TextWindows>(part, *info().tokenizer, tokens_);
}

}  // namespace trainer
