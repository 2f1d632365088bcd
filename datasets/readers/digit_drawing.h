#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace trainer {

/// Edge of a drawn digit, in pixels.
constexpr int kDigitSize = 28;

/// A point of a glyph: x to the right, y down, the glyph's box being [-1, 1] in both.
struct GlyphPoint {
  float x, y;
};
/// A smooth curve through its points; strokes that share an end make a corner.
using GlyphStroke = std::vector<GlyphPoint>;
/// One way to write a digit.
using Glyph = std::vector<GlyphStroke>;

/// The ways to write `digit`, 0 to 9.
std::span<const Glyph> glyphs_of(int digit);

/// The splits of the drawn digits. Drawing `index` of a split is the same on every machine.
enum class DigitSplit : std::uint64_t { train = 0, test = 1 };
/// The digit of a drawing.
int drawn_label(DigitSplit split, std::int64_t index);
/// Draws (kDigitSize, kDigitSize) gray pixels; 255 is ink.
void draw_digit(DigitSplit split, std::int64_t index,
                std::span<std::uint8_t, kDigitSize * kDigitSize> pixels);

}  // namespace trainer
