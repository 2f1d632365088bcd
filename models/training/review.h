#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/parallel/communicator.h"
#include "models/training/session.h"

namespace trainer {

/// What a network gives for a sample of an evaluation.
struct ReviewedSample {
  static constexpr std::size_t kMostShown = 3;

  std::int64_t index = 0;  ///< in its split
  double loss = 0;         ///< the mean over its labels; infinity if it is not a number
  /// Of `values`: the likeliest classes with their predictions, else all predictions. 0 where each position
  /// has its own, or there are more.
  std::int32_t shown = 0;
  std::array<std::int32_t, kMostShown> elements{};
  std::array<float, kMostShown> values{};
};

/// Samples of an evaluation for people.
struct Review {
  std::vector<ReviewedSample> worst;   ///< with the highest losses, the highest first
  std::vector<ReviewedSample> spread;  ///< at equal distances over the split
  /// Samples by [true class][predicted class], row by row; empty but for a label of a few classes a sample.
  std::vector<std::int64_t> confusion;
};

/// Collects a review while a split is evaluated.
class Reviewer {
 public:
  Reviewer(const Session& session, const Dataset& split);

  /// False for most samples of a split with a label for each position, whose losses take long.
  bool takes(std::int64_t sample) const { return sample < reviewed_; }
  /// `outputs`: of the network for the sample, `label`: its class, -1 if it has none or several. Workers
  /// call it at the same time.
  void add(int worker, std::int64_t sample, double loss, std::span<const float> outputs, std::int32_t label);
  /// Collective over data ranks. The review, on their rank 0.
  Review gather(Communicator& data) const;

 private:
  static constexpr std::size_t kWorst = 12;
  static constexpr std::int64_t kSpread = 8, kMostOfPositions = 512, kMostClasses = 20;

  bool is_spread(std::int64_t sample) const;
  ReviewedSample reviewed(std::int64_t sample, double loss, std::span<const float> outputs) const;

  const Session& session_;
  std::int64_t reviewed_;                             ///< samples of the split, from the first
  std::vector<std::vector<ReviewedSample>> worst_;    ///< of each worker, the highest loss first
  std::vector<std::vector<ReviewedSample>> spread_;   ///< of each worker
  std::int64_t classes_;                              ///< of the confusion matrix; 0: there is none
  std::vector<std::vector<std::int64_t>> confusion_;  ///< of each worker
};

}  // namespace trainer
