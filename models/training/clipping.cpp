#include "models/training/clipping.h"

#include <algorithm>
#include <array>
#include <bit>

#include "engine/math/square_sum.h"
#include "models/training/gradient_clip.h"

namespace trainer {

void Clipping::before_update(std::int64_t, const Signals& all) {
  if (const auto limit = settings_.clip_value) shard_.clamp_gradients(static_cast<float>(*limit));
  if (settings_.clip_norm) clip_norm(all.largest);
}

void Clipping::clip_norm(double largest) {
  model_.maximum({&largest, 1});
  // After clamping; the bits of floats above zero are in the order of the floats.
  if (const auto limit = settings_.clip_value)
    largest = std::min<double>(largest, std::bit_cast<std::uint32_t>(static_cast<float>(*limit)));
  SquareSum squares(static_cast<std::uint32_t>(largest));
  shard_.add_squares(squares);
  std::array<double, 2> parts{squares.high(), squares.low()};
  scalars_.sum(parts);
  model_.sum(parts);
  const float factor = clip_factor(squares.root(parts[0], parts[1]), *settings_.clip_norm);
  if (factor < 1) shard_.scale_gradients(factor);
}

}  // namespace trainer
