#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "datasets/subset.h"

namespace trainer {

/// One of several equal folds of some samples (k-fold cross-validation).
struct Fold {
  int number = 0;  ///< in [0, count)
  int count = 2;
  std::uint64_t seed = 1;

  std::int64_t held_out(std::int64_t samples) const {
    return samples / count + (number < samples % count ? 1 : 0);
  }
};

struct FoldParts {
  std::vector<std::int64_t> training, held_out;  ///< in rising order
};
/// Divides `samples`. `labels`: of the samples with these numbers; empty if they have no classes. Folds
/// differ by one sample at most, and so do the samples of each class in them (stratified folds; Kohavi 1995).
FoldParts divide(std::span<const std::int64_t> samples, std::span<const std::int32_t> labels,
                 const Fold& fold);

/// The parts of a dataset whose labels are not read yet. Their sizes are known at once, their samples after
/// divide().
class FoldedSamples {
 public:
  /// `samples` are those of `all` that take part, at least as many as there are folds. `all` must outlive
  /// what the take functions return.
  FoldedSamples(const Dataset& all, std::vector<std::int64_t> samples, const Fold& fold);

  /// The parts, each to be taken once.
  std::unique_ptr<Dataset> take_training() { return std::move(own_training_); }
  std::unique_ptr<Dataset> take_held_out() { return std::move(own_held_out_); }
  /// Call when the labels can be read, while both parts exist; again makes no difference.
  void divide();

 private:
  const Dataset& all_;
  std::vector<std::int64_t> samples_;
  Fold fold_;
  std::unique_ptr<Subset> own_training_, own_held_out_;
  Subset &training_, &held_out_;
};

}  // namespace trainer
