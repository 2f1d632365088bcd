#include "models/training/clipping.h"

#include <algorithm>
#include <bit>

#include "models/training/gradient_clip.h"
#include "models/training/gradient_norm.h"

namespace trainer {

void Clipping::before_update(std::int64_t, const Signals& all) {
  if (const auto limit = settings_.clip_value) shard_.clamp_gradients(static_cast<float>(*limit));
  if (settings_.clip_norm) clip_norm(all.largest);
}

void Clipping::clip_norm(double largest) {
  // After clamping; the bits of floats above zero are in the order of the floats.
  if (const auto limit = settings_.clip_value)
    largest = std::min<double>(largest, std::bit_cast<std::uint32_t>(static_cast<float>(*limit)));
  const float factor = clip_factor(gradient_norm(shard_, scalars_, model_, largest), *settings_.clip_norm);
  if (factor < 1) shard_.scale_gradients(factor);
}

}  // namespace trainer
