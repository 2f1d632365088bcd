#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/parallel/sign_exchange.h"
#include "models/checkpoints/hosted_states.h"
#include "models/local/local_runner.h"
#include "models/local/worker_mean.h"
#include "models/training/divergence_check.h"

namespace trainer {

/// The training loop of local SGD (arXiv:1805.09767) and DiLoCo (arXiv:2311.08105, algorithm 1): in place of
/// a step a round, in which each virtual worker takes steps by itself from the global parameters on, each on
/// its share of the batches. The global parameters minus the mean of the workers' are then the gradient of
/// the outer optimizer. Ranks exchange messages once a round. Sums over virtual workers follow one tree, and
/// error feedback is of virtual workers, so all bits are the same for every placement.
class LocalTrainer final : public HostedStates {
 public:
  /// `parts`: of the run, with the outer optimizer. Makes no collective call.
  LocalTrainer(const Config& root, TrainingParts& parts);

  /// As Trainer::train(): hooks see rounds as steps. Collective.
  void train(Progress& run, Hook& hooks);

  /// "worker3.momentum" for each virtual worker and each state of its optimizer; with one_bit, then
  /// "worker3.residual".
  const std::vector<std::string>& names() const override { return names_; }
  int host(std::size_t state) const override;
  std::span<float> values(std::size_t state) override;

 private:
  void prepare_sign_exchange();
  void train_workers(std::int64_t first, std::int64_t last, Hook& hooks);
  /// The sum of all workers' differences becomes the gradient of this rank's shard. Collective.
  void sum_differences();
  /// Writes the sums of the workers' differences into the gradients of `parts_`.
  void add_differences();
  /// The same over all ranks, of the signs of the differences. Collective.
  void add_signs();
  /// The model's layer states become the mean of the workers', and where the settings ask for it the states
  /// of all workers' optimizers their mean. Collective.
  void average_states();
  /// What the workers report; true if one of them failed.
  bool fill_sums();
  /// The scores of a round, from sums over all ranks.
  void score(std::span<const double> sums, std::int64_t first, std::int64_t last, Scores& scores);
  [[noreturn]] void fail(Progress& run, Hook& hooks);

  TrainingParts& parts_;
  DivergenceCheck divergence_;
  Range hosted_;                                       ///< virtual workers of this rank
  std::vector<std::unique_ptr<LocalRunner>> runners_;  ///< of each thread
  std::vector<LocalWorker> workers_;                   ///< hosted ones
  std::optional<SignExchange> signs_;                  ///< with one_bit
  WorkerMean mean_;
  std::vector<std::string> names_;
  std::vector<double> sums_;   ///< of each virtual worker, one after the other
  std::vector<double> total_;  ///< over all of them
};

}  // namespace trainer
