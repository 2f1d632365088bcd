#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "engine/config/registry.h"

namespace trainer {

/// What a schedule may depend on besides its settings.
struct ScheduleContext {
  double rate = 0;  ///< the optimizer's configured learning rate
  std::int64_t steps_per_epoch = 1;
  std::int64_t total_steps = 0;  ///< of the run; for a Schedule, without the warm-up
  std::int64_t warmup = 0;       ///< steps before the schedule's step 0
  bool evaluates = true;         ///< the run has evaluations, whose losses see() gets

  std::int64_t steps(const Duration& duration) const { return duration.steps(steps_per_epoch); }
};

/// The learning rate as a function of the step, counted from 0; some schedules also follow evaluations.
class Schedule {
 public:
  static constexpr const char* kFamily = "schedule";
  virtual ~Schedule() = default;
  virtual double at(std::int64_t step) const = 0;
  /// The momentum at this step, for schedules that change it.
  virtual std::optional<double> momentum(std::int64_t /*step*/) const { return std::nullopt; }

  /// The loss of an evaluation; later rates may depend on it.
  virtual void see(double /*loss*/) {}
  /// What see() has changed, for checkpoints; empty for a function of the step alone. restore() takes as many
  /// values.
  virtual std::vector<double> state() const { return {}; }
  virtual void restore(std::span<const double> /*state*/) {}
};

/// The schedule of a run, after a warm-up of `context.warmup` steps: (step + 1) / warmup times the rate at
/// the schedule's step 0 (Goyal et al. 2017, section 2.2), then the schedule over the remaining steps.
std::unique_ptr<Schedule> make_schedule(const Config& schedule, const ScheduleContext& context);

}  // namespace trainer
