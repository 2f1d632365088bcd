#include "datasets/readers/text_windows.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace trainer {
namespace {

std::int64_t samples_of(const TextWindows::Cut& cut, const Packing& rows) {
  if (cut.packs_lines) return rows.rows();
  return cut.lines ? std::ssize(*cut.lines) : cut.windows();
}

DatasetInfo info_of(const TextWindows::Cut& cut, const Packing& rows, const Tokenizer& tokenizer) {
  return {.size = samples_of(cut, rows),
          .sample = {cut.length},
          .classes = tokenizer.vocabulary(),
          .positions = cut.length,
          .vocabulary = tokenizer.vocabulary(),
          .tokenizer = &tokenizer,
          .has_lengths = cut.lines.has_value(),
          .is_packed = cut.packs_lines};
}

Packing packed(const TextWindows::Cut& cut) {
  if (!cut.packs_lines) return {};
  std::vector<std::int64_t> lengths;
  for (const TokenRange& line : *cut.lines) lengths.push_back(line.length);
  return pack_documents(lengths, cut.length);
}

}  // namespace

std::int64_t TextWindows::Cut::windows() const {
  const std::int64_t rest = last - first - length - 1;  // a window's last label is the token behind it
  return rest < 0 ? 0 : rest / stride + 1;
}

TextWindows::TextWindows(const Cut& cut, const Tokenizer& tokenizer,
                         const std::optional<StoredTokens>& tokens)
    : TextWindows(cut, packed(cut), tokenizer, tokens) {}

TextWindows::TextWindows(const Cut& cut, Packing rows, const Tokenizer& tokenizer,
                         const std::optional<StoredTokens>& tokens)
    : Dataset(info_of(cut, rows, tokenizer)), cut_(cut), rows_(std::move(rows)), tokens_(tokens) {}

template <class Visit>
void TextWindows::for_each_range(std::int64_t index, Visit visit) const {
  if (index < 0 || index >= size()) throw std::logic_error("a sample index out of range");
  if (!cut_.lines)
    return visit(TokenRange{cut_.first + index * cut_.stride, static_cast<std::int32_t>(cut_.length)},
                 std::int64_t{0});
  if (!cut_.packs_lines) return visit((*cut_.lines)[index], std::int64_t{0});
  std::int64_t place = 0;
  for (const std::int64_t line : rows_.row(index)) {
    const TokenRange& range = (*cut_.lines)[line];
    visit(range, place);
    place += range.length;
  }
}

std::int64_t TextWindows::length(std::int64_t index) const {
  std::int64_t length = 0;
  for_each_range(index, [&](const TokenRange& range, std::int64_t) { length += range.length; });
  return length;
}

void TextWindows::read(std::span<const std::int64_t> indices, Tensor x) const {
  float* to = x.data();
  for (const std::int64_t index : indices) {
    std::int64_t end = 0;
    for_each_range(index, [&](const TokenRange& range, std::int64_t place) {
      tokens_->visit(range.first, range.length,
                     [to = to + place](std::int64_t i, auto token) { to[i] = static_cast<float>(token); });
      end = place + range.length;
    });
    std::fill(to + end, to + cut_.length, 0.0f);
    to += cut_.length;
  }
}

void TextWindows::read_labels(std::span<const std::int64_t> indices, std::span<std::int32_t> labels) const {
  std::int32_t* to = labels.data();
  for (const std::int64_t index : indices) {
    std::int64_t end = 0;
    for_each_range(index, [&](const TokenRange& range, std::int64_t place) {
      tokens_->visit(range.first + 1, range.length, [to = to + place](std::int64_t i, auto token) {
        to[i] = static_cast<std::int32_t>(token);
      });
      end = place + range.length;
    });
    std::fill(to + end, to + cut_.length, 0);
    to += cut_.length;
  }
}

void TextWindows::read_positions(std::int64_t index, std::span<std::int32_t> positions) const {
  std::ranges::fill(positions, 0);
  for_each_range(index, [&](const TokenRange& range, std::int64_t place) {
    for (std::int32_t t = 0; t < range.length; ++t) positions[place + t] = t;
  });
}

std::unique_ptr<Dataset> TextWindows::subset(double begin, double end, bool apart) const {
  const auto place = [](double share, std::int64_t count) {
    return std::llround(share * static_cast<double>(count));
  };
  Cut part = cut_;
  if (cut_.lines) {
    const std::int64_t lines = std::ssize(*cut_.lines);
    const std::size_t first = place(begin, lines);
    part.lines = cut_.lines->subspan(first, place(end, lines) - first);
  } else {
    part.first = cut_.first + place(begin, cut_.last - cut_.first);
    part.last = cut_.first + place(end, cut_.last - cut_.first);
  }
  if (apart) part.stride = part.length;
  return std::make_unique<TextWindows>(part, *info().tokenizer, tokens_);
}

}  // namespace trainer
