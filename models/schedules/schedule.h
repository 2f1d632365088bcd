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
  std::int64_t steps_per_epoch = 1, total_steps = 0;
  bool evaluates = true;  ///< losses of an evaluation will be told

  std::int64_t steps(const Duration& duration) const { return duration.steps(steps_per_epoch); }
};

/// The learning rate as a function of the step (from 0), and with few schedules of what evaluations have
/// found.
class Schedule {
 public:
  static constexpr const char* kFamily = "schedule";
  virtual ~Schedule() = default;
  virtual double at(std::int64_t step) const = 0;
  /// The momentum to go with it, where the schedule changes that, too.
  virtual std::optional<double> momentum(std::int64_t /*step*/) const { return std::nullopt; }

  /// The loss of an evaluation; rates from then on may depend on it.
  virtual void see(double /*loss*/) {}
  /// What has become of it, for checkpoints; empty when the step says all. restore() takes as many numbers.
  virtual std::vector<double> state() const { return {}; }
  virtual void restore(std::span<const double> /*state*/) {}
};

/// `inner`, multiplied by (step + 1) / steps during the first `steps` steps (Goyal et al. 2017, section 2.2).
std::unique_ptr<Schedule> with_warmup(std::unique_ptr<Schedule> inner, std::int64_t steps);

}  // namespace trainer
