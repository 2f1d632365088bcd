#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "engine/parallel/parameter_server.h"
#include "models/asynchronous/asynchronous_worker.h"
#include "models/asynchronous/partial_steps.h"
#include "models/asynchronous/step_log.h"
#include "models/training/divergence_check.h"
#include "models/training/observers.h"

namespace trainer {

/// The training loop of asynchronous SGD (Dean et al., NIPS 2012) with a bound on the staleness of gradients
/// (Ho et al., NIPS 2013). A batch is as many units as there are ranks; a rank computes the gradient of a
/// unit and updates the parameters by it, with the unit's share of the learning rate, while other ranks
/// compute. Ranks meet only where an epoch ends, an evaluation or a checkpoint is due, or the run stops: at
/// the end of a stretch. Between these, steps are counted by the units that are handed out.
class AsynchronousTrainer final : private ParameterServer::Owner {
 public:
  /// `parts`: of the run. Collective.
  AsynchronousTrainer(const Config& root, TrainingParts& parts);

  /// As Trainer::train(): hooks see stretches as steps. `reports` get each step, on world rank 0. Collective.
  void train(Progress& run, Hook& hooks, const Observers& reports);

  /// "staleness at most 8, 4 ranks compute at a time"
  std::string text() const;

 private:
  std::span<const float> values(std::int64_t expected) override;
  void update(std::int64_t unit, double share, std::span<const float> gradient,
              std::int64_t version) override;
  void take_notes(std::int64_t unit, std::span<const double> notes) override;

  /// Where the stretch after the last step ends, unless the run stops before.
  std::int64_t stretch_end(const Progress& run) const;
  /// The worker begins a stretch with the layer states of the model.
  void copy_states_to_worker();
  /// Computes units until there are no more, or one is not finite.
  void compute_units(Progress& run, Hook& hooks, const Observers& reports);
  void compute_unit(std::int64_t unit, Progress& run, Hook& hooks);
  /// True if a hook requires the stretch to end.
  static bool has_to_end(Progress& run, Hook& hooks);
  /// Reports the steps that are complete.
  void report_steps(const Progress& run, const Observers& reports);
  /// Loss and metrics of some units; leaves the sums as Progress::end_step() reads them.
  void score(std::span<double> sums, Scores& scores) const;
  /// The same for all ranks and the steps `first` to `end` of a stretch, in the report of the run.
  void score_stretch(std::int64_t first, std::int64_t end, std::span<double> sums, Progress& run) const;
  /// Adds up the waiting and staleness of a stretch over ranks. Collective.
  void reduce_waiting_and_staleness(Progress& run, std::chrono::nanoseconds waiting);
  /// Layer states of the model become the mean of the ranks', each weighted by its units. Collective.
  void average_states();
  [[noreturn]] void fail(Progress& run, Hook& hooks);

  TrainingParts& parts_;
  AsynchronousWorker worker_;
  DivergenceCheck divergence_;
  Range shard_;
  std::int64_t ranks_;
  PartialSteps optimizer_;
  std::int64_t step_ = 0;     ///< of the last update
  std::vector<float> ahead_;  ///< the shard's values for a worker
  ParameterServer server_;
  StepLog log_;
  StalenessSum line_staleness_;  ///< since the last line of the log
  std::int64_t reported_ = 0;    ///< steps
  std::int64_t samples_ = 0;     ///< of the steps of this stretch that were reported
  // Of this stretch and rank:
  std::vector<double> sums_, notes_;
  StalenessSum staleness_, not_noted_;  ///< of all gradients; of those that rank 0 does not know yet
  std::int64_t units_ = 0;
  bool has_given_ = false;              ///< a gradient whose staleness is not known yet
  std::optional<std::int64_t> failed_;  ///< the step that was not finite
  Progress::Clock::time_point stretch_begin_;
  std::chrono::nanoseconds longest_unit_{};
};

}  // namespace trainer
