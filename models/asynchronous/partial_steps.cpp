#include "models/asynchronous/partial_steps.h"

#include <algorithm>

namespace trainer {
namespace {

constexpr std::size_t kPieceFloats = 512;

/// A copy of the values and states of a piece of a segment.
class Copy {
 public:
  explicit Copy(const Segment& piece) : copy_(piece) {
    const auto take = [](std::span<float>& floats, Floats& memory) {
      const std::span<float> copy = std::span(memory).first(floats.size());
      std::ranges::copy(floats, copy.begin());
      floats = copy;
    };
    take(copy_.values, values_);
    for (std::size_t i = 0; i < copy_.states.size(); ++i) take(copy_.states[i], states_[i]);
  }
  Copy(const Copy&) = delete;
  Copy& operator=(const Copy&) = delete;
  Segment& segment() { return copy_; }

 private:
  using Floats = std::array<float, kPieceFloats>;
  Segment copy_;
  Floats values_;
  std::array<Floats, Segment::kMaxStates> states_;
};

/// work(first, piece) for the pieces of a segment.
template <class Work>
void for_each_piece(const Segment& segment, Work work) {
  for (std::size_t first = 0; first < segment.values.size(); first += kPieceFloats)
    work(first, segment.part(first, std::min(kPieceFloats, segment.values.size() - first)));
}

/// to = from + part (to - from)
void take_part(std::span<const float> from, float part, std::span<float> to) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] = from[i] + part * (to[i] - from[i]);
}

}  // namespace

void PartialSteps::step(std::span<const Segment> segments, float rate, std::int64_t step) {
  if (is_scaled_ || share_ == 1) return whole_.step(segments, rate * share_, step);
  for (const Segment& segment : segments)
    for_each_piece(segment, [&](std::size_t, const Segment& piece) {
      Copy before(piece);
      whole_.step({&piece, 1}, rate, step);
      take_part(before.segment().values, share_, piece.values);
      for (std::size_t i = 0; i < piece.states.size(); ++i)
        take_part(before.segment().states[i], share_, piece.states[i]);
    });
}

void PartialSteps::look_ahead(const Segment& segment, float rate, std::int64_t step, float steps,
                              std::span<float> values) const {
  if (is_scaled_ || steps == 0 || segment.rate == 0) {
    std::ranges::copy(segment.values, values.begin());
    return;
  }
  static constexpr std::array<float, kPieceFloats> kNoGradient{};
  for_each_piece(segment, [&](std::size_t first, const Segment& piece) {
    Copy ahead(piece);
    ahead.segment().gradients = std::span(kNoGradient).first(piece.values.size());
    whole_.step({&ahead.segment(), 1}, rate * segment.rate, step);
    const std::span<float> moved = ahead.segment().values;
    take_part(piece.values, steps, moved);
    std::ranges::copy(moved, values.begin() + static_cast<std::ptrdiff_t>(first));
  });
}

}  // namespace trainer
