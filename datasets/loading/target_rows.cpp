#include "datasets/loading/target_rows.h"

#include <algorithm>

namespace trainer {

const Targets& TargetRows::read(const Dataset& split, std::span<const std::int64_t> samples) {
  if (split.classes() > 0) {
    labels_.resize(std::ssize(samples) * split.info().labels_per_sample());
    split.read_labels(samples, labels_);
    targets_ = {.labels = labels_};
  } else {
    const Shape shape = split.target().with_front(std::ssize(samples));
    values_.resize(shape.size());
    const Tensor values(values_.data(), shape);
    split.read_targets(samples, values);
    targets_ = {.values = values};
  }
  if (split.info().has_weights) {
    weights_.resize(samples.size());
    std::ranges::transform(samples, weights_.begin(),
                           [&](std::int64_t sample) { return split.weight(sample); });
    targets_.weights = weights_;
  }
  return targets_;
}

const Targets& TargetRows::read(const Dataset& split, std::span<const std::int64_t> samples,
                                const Mixing& mixing, std::int64_t epoch) {
  read(split, samples);
  if (!mixing.is_on()) return targets_;
  partners_.resize(samples.size());
  shares_.resize(samples.size());
  for (std::size_t row = 0; row < samples.size(); ++row) {
    const Mixing::Partner partner = mixing.partner(samples[row], epoch);
    partners_[row] = partner.sample;
    shares_[row] = partner.share;
  }
  if (split.classes() > 0) {
    other_labels_.resize(samples.size());
    split.read_labels(partners_, other_labels_);
    targets_.other_labels = other_labels_;
    targets_.shares = shares_;
    return targets_;
  }
  other_values_.resize(values_.size());
  split.read_targets(partners_, {other_values_.data(), targets_.values.shape()});
  const std::size_t size = targets_.values.row_size();
  for (std::size_t i = 0; i < values_.size(); ++i)
    values_[i] = shares_[i / size] * values_[i] + (1 - shares_[i / size]) * other_values_[i];
  return targets_;
}

}  // namespace trainer
