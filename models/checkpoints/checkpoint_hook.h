#pragma once

#include "models/checkpoints/run_saver.h"
#include "models/training/observers.h"

namespace trainer {

/// Saves checkpoints as `train.checkpoint` schedules them, when an evaluation is the best so far, and when
/// the run stops. A thread writes them beside training.
class CheckpointHook final : public Hook {
 public:
  /// `base`: what stays the same in all checkpoints of the run. `folder` matters on world rank 0 only. `all`:
  /// the hooks of the run. `hosted`: states beside those of the optimizer shard; may be null. Collective.
  CheckpointHook(TrainingParts& parts, CheckpointFolder folder, CheckpointState base,
                 const Observers& observers, Hook& all, HostedStates* hosted);

  void before_consensus(const Progress& run, Signals& mine) override;
  void before_update(std::int64_t step, const Signals& all) override;
  bool reads_parameters(const Progress& run, std::int64_t done) override;
  void between_steps(Progress& run) override;
  void on_divergence(std::vector<std::string>& notes) override;
  void on_end(Progress& run) override;

  /// Waits until the best checkpoint so far is on the disk, if it is on its way. Collective.
  void finish_best();

 private:
  using Clock = Progress::Clock;
  /// `pending`: what follows the step is still to be done.
  void save(Progress& run, bool pending);

  TrainingParts& parts_;
  const Observers& observers_;
  RunSaver saver_;
  Clock::time_point saved_ = Clock::now();  ///< when the last checkpoint was begun
  bool is_asked_ = false;                   ///< by the clock, since then
  bool is_best_ = false;                    ///< the checkpoint that was begun last
};

}  // namespace trainer
