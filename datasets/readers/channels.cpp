#include "datasets/readers/channels.h"

#include <algorithm>
#include <vector>

namespace trainer {

void channels_to_the_end(const Shape& sample, std::span<float> all) {
  const std::int64_t channels = sample[2], area = sample[0] * sample[1];
  if (channels == 1) return;
  std::vector<float> one(sample.size());
  for (std::size_t first = 0; first < all.size(); first += one.size()) {
    std::copy_n(all.data() + first, one.size(), one.data());
    for (std::int64_t c = 0; c < channels; ++c)
      for (std::int64_t i = 0; i < area; ++i) all[first + i * channels + c] = one[c * area + i];
  }
}

}  // namespace trainer
