#include "datasets/loading/augmentation.h"

#include <algorithm>

#include "engine/config/registry.h"

namespace trainer {

Augmentation::Augmentation(const std::vector<Config>& transforms, const Shape& sample, std::uint64_t seed)
    : seed_(seed) {
  for (const Config& config : transforms)
    steps_.push_back({hash_text(config.path()), Registry<Transform, const Shape&>::make(config, sample)});
}

void Augmentation::apply(std::span<const std::int64_t> indices, std::int64_t epoch, Tensor x,
                         std::span<float> scratch) const {
  for (const Step& step : steps_) {
    const RandomStream random(seed_, step.purpose, static_cast<std::uint64_t>(epoch));
    for (std::size_t row = 0; row < indices.size(); ++row) {
      const Tensor rows = x.rows(static_cast<std::int64_t>(row), 1);
      const bool denormalises = normalised_ && step.transform->requires_pixels();
      if (denormalises) normalised_->denormalise(rows);
      step.transform->apply(random, indices[row], rows.as(rows.shape().without_front()), scratch);
      if (denormalises) normalised_->normalise(rows);
    }
  }
}

std::int64_t Augmentation::scratch() const {
  std::int64_t most = 0;
  for (const Step& step : steps_) most = std::max(most, step.transform->scratch());
  return most;
}

bool Augmentation::is_costly() const {
  return std::ranges::any_of(steps_, [](const Step& step) { return step.transform->is_costly(); });
}

}  // namespace trainer
