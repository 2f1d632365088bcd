#include "datasets/folds.h"

#include <algorithm>
#include <numeric>

#include "engine/core/random.h"

namespace trainer {

FoldParts divide(std::span<const std::int64_t> samples, std::span<const std::int32_t> labels,
                 const Fold& fold) {
  std::vector<std::int64_t> order;
  for (const std::int64_t place : permutation(std::ssize(samples), RandomStream(fold.seed, "data.fold")))
    order.push_back(samples[static_cast<std::size_t>(place)]);
  if (!labels.empty())
    std::ranges::stable_sort(order, {}, [&](std::int64_t sample) { return labels[sample]; });
  // Samples go into the folds in turn, class after class.
  FoldParts parts;
  for (std::int64_t i = 0; i < std::ssize(order); ++i)
    (i % fold.count == fold.number ? parts.held_out : parts.training).push_back(order[i]);
  std::ranges::sort(parts.training);
  std::ranges::sort(parts.held_out);
  return parts;
}

FoldedSamples::FoldedSamples(const Dataset& all, std::vector<std::int64_t> samples, const Fold& fold)
    : all_(all),
      samples_(std::move(samples)),
      fold_(fold),
      own_training_(
          std::make_unique<Subset>(all, std::ssize(samples_) - fold.held_out(std::ssize(samples_)))),
      own_held_out_(std::make_unique<Subset>(all, fold.held_out(std::ssize(samples_)))),
      training_(*own_training_),
      held_out_(*own_held_out_) {}

void FoldedSamples::divide() {
  std::vector<std::int32_t> labels;
  if (all_.classes() > 0 && all_.info().labels_per_sample() == 1) {
    std::vector<std::int64_t> indices(all_.size());
    std::iota(indices.begin(), indices.end(), 0);
    labels.resize(all_.size());
    all_.read_labels(indices, labels);
  }
  FoldParts parts = trainer::divide(samples_, labels, fold_);
  training_.use(std::move(parts.training));
  held_out_.use(std::move(parts.held_out));
}

}  // namespace trainer
