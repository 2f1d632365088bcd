#include "datasets/readers/digit_drawing.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "engine/core/random.h"

namespace trainer {
namespace {

// Only + - * / and square roots are used: IEEE 754 rounds them alike on every machine; sine and cosine
// differ.

constexpr std::uint64_t kSeed = 20;
constexpr int kPixels = kDigitSize * kDigitSize;
constexpr int kSpanPieces = 4;          // straight lines for each part of a curve
constexpr std::size_t kMaxPoints = 16;  // of a stroke

/// The random choices of one drawing, in the order of the calls.
class Choices {
 public:
  Choices(DigitSplit split, std::int64_t index)
      : stream_(kSeed, split == DigitSplit::train ? "drawing of train" : "drawing of test",
                static_cast<std::uint64_t>(index)) {
    stream_.fill_uniform(0, draws_);
  }
  float between(float low, float high) { return low + (high - low) * draws_.at(next_++); }
  /// Between -reach and reach, mostly near 0.
  float around_zero(float reach) {
    float sum = 0;  // one by one: within an expression the compiler chooses the order of calls
    for (int i = 0; i < 3; ++i) sum += between(-1, 1);
    return reach * sum * (1.0f / 3);
  }
  /// Noise of each pixel, in [0, 1).
  void grain(std::span<float, kPixels> grain) const { stream_.fill_uniform(draws_.size(), grain); }

 private:
  RandomStream stream_;
  std::array<float, 128> draws_;
  std::size_t next_ = 0;
};

/// Maps a glyph's box to pixels: a smooth bend, then scale, slant, rotation and translation.
class Placement {
 public:
  explicit Placement(Choices& choices) {
    for (float& bend : bends_) bend = choices.around_zero(0.34f);
    const float height = choices.between(6.3f, 10.5f);
    const float width = height * choices.between(0.72f, 1.12f);
    const float slant = choices.around_zero(0.6f) - 0.08f;
    const float half_turn = choices.around_zero(0.28f);  // tangent of half the angle
    const float cosine = (1 - half_turn * half_turn) / (1 + half_turn * half_turn);
    const float sine = 2 * half_turn / (1 + half_turn * half_turn);
    xx_ = cosine * width;
    xy_ = -cosine * slant * height - sine * height;
    yx_ = sine * width;
    yy_ = -sine * slant * height + cosine * height;
    middle_x_ = kDigitSize * 0.5f + choices.around_zero(5.9f);
    middle_y_ = kDigitSize * 0.5f + choices.around_zero(5.9f);
  }

  GlyphPoint operator()(GlyphPoint p) const {
    const float x = p.x + bends_[0] * p.y * p.y + bends_[1] * p.x * p.y + bends_[2] * p.x * p.x;
    const float y = p.y + bends_[3] * p.x * p.x + bends_[4] * p.x * p.y + bends_[5] * p.y * p.y;
    return {middle_x_ + xx_ * x + xy_ * y, middle_y_ + yx_ * x + yy_ * y};
  }

 private:
  std::array<float, 6> bends_;
  float xx_, xy_, yx_, yy_, middle_x_, middle_y_;
};

/// Squared distance of every pixel's middle to the nearest line drawn so far, as far as `reach`.
class DistanceMap {
 public:
  explicit DistanceMap(float reach) : reach_(reach) { squares_.fill(reach * reach); }

  void line(GlyphPoint a, GlyphPoint b) {
    const float dx = b.x - a.x, dy = b.y - a.y, square = dx * dx + dy * dy;
    const float scale = square > 0 ? 1 / square : 0;
    const int left = pixel(std::min(a.x, b.x) - reach_), right = pixel(std::max(a.x, b.x) + reach_ + 1);
    const int top = pixel(std::min(a.y, b.y) - reach_), bottom = pixel(std::max(a.y, b.y) + reach_ + 1);
    for (int row = top; row < bottom; ++row)
      for (int column = left; column < right; ++column) {
        const float px = static_cast<float>(column) + 0.5f - a.x, py = static_cast<float>(row) + 0.5f - a.y;
        const float along = std::clamp((px * dx + py * dy) * scale, 0.0f, 1.0f);
        const float rx = px - along * dx, ry = py - along * dy;
        float& nearest = squares_[row * kDigitSize + column];
        nearest = std::min(nearest, rx * rx + ry * ry);
      }
  }

  /// A smooth curve through all points (Catmull and Rom).
  void curve(std::span<const GlyphPoint> points) {
    for (std::size_t i = 0; i + 1 < points.size(); ++i) {
      const GlyphPoint a = points[i], b = points[i + 1];
      const GlyphPoint before = i > 0 ? points[i - 1] : a;
      const GlyphPoint after = i + 2 < points.size() ? points[i + 2] : b;
      GlyphPoint last = a;
      for (int piece = 1; piece <= kSpanPieces; ++piece) {
        const float t = static_cast<float>(piece) / kSpanPieces;
        const GlyphPoint next = {blend(before.x, a.x, b.x, after.x, t),
                                 blend(before.y, a.y, b.y, after.y, t)};
        line(last, next);
        last = next;
      }
    }
  }

  float distance(std::size_t i) const { return std::sqrt(squares_[i]); }
  bool reached(std::size_t i) const { return squares_[i] < reach_ * reach_; }

 private:
  static int pixel(float position) { return static_cast<int>(std::clamp(position, 0.0f, float{kDigitSize})); }
  static float blend(float before, float a, float b, float after, float t) {
    return a +
           0.5f * t *
               (b - before + t * (2 * before - 5 * a + 4 * b - after + t * (3 * (a - b) + after - before)));
  }

  float reach_;
  std::array<float, kPixels> squares_;
};

}  // namespace

int drawn_label(DigitSplit split, std::int64_t index) {
  const RandomStream labels(kSeed, split == DigitSplit::train ? "labels of train" : "labels of test");
  return static_cast<int>(labels.below(static_cast<std::uint64_t>(index), 10));
}

void draw_digit(DigitSplit split, std::int64_t index, std::span<std::uint8_t, kPixels> pixels) {
  Choices choices(split, index);
  const auto glyphs = glyphs_of(drawn_label(split, index));
  const float pick = choices.between(0, static_cast<float>(glyphs.size()));
  const Glyph& glyph = glyphs[std::min(static_cast<std::size_t>(pick), glyphs.size() - 1)];

  const Placement placement(choices);
  const float radius = choices.between(0.55f, 1.9f), softness = choices.between(0.7f, 1.5f);
  const float ink = choices.between(0.6f, 1.0f), grain_strength = choices.between(0.0f, 0.48f);
  const float wobble = choices.between(0.0f, 0.3f);

  DistanceMap map(radius + softness);
  for (const GlyphStroke& stroke : glyph) {
    std::array<GlyphPoint, kMaxPoints> placed;
    for (std::size_t i = 0; i < stroke.size(); ++i) {
      GlyphPoint point = stroke[i];
      if (i > 0 && i + 1 < stroke.size()) {  // ends stay where other strokes meet them
        point.x += choices.around_zero(wobble);
        point.y += choices.around_zero(wobble);
      }
      placed.at(i) = placement(point);
    }
    map.curve(std::span(placed).first(stroke.size()));
  }

  std::array<float, kPixels> grain;
  choices.grain(grain);
  for (std::size_t i = 0; i < kPixels; ++i) {
    const float cover =
        map.reached(i) ? std::clamp((radius + softness - map.distance(i)) / softness, 0.0f, 1.0f) : 0;
    const float value = ink * cover + grain_strength * (grain[i] - 0.5f);
    pixels[i] = static_cast<std::uint8_t>(std::floor(std::clamp(value, 0.0f, 1.0f) * 255 + 0.5f));
  }
}

}  // namespace trainer
