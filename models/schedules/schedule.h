#pragma once

#include <cstdint>
#include <memory>

#include "engine/config/registry.h"

namespace trainer {

/// What a schedule may depend on besides its settings.
struct ScheduleContext {
  double rate = 0;  ///< the optimizer's configured learning rate
  std::int64_t steps_per_epoch = 1, total_steps = 0;

  std::int64_t steps(const Duration& duration) const { return duration.steps(steps_per_epoch); }
};

/// The learning rate as a pure function of the step (from 0), so that resuming needs no state.
class Schedule {
 public:
  static constexpr const char* kFamily = "schedule";
  virtual ~Schedule() = default;
  virtual double at(std::int64_t step) const = 0;
};

/// `inner`, multiplied by (step + 1) / steps during the first `steps` steps (Goyal et al. 2017, section 2.2).
std::unique_ptr<Schedule> with_warmup(std::unique_ptr<Schedule> inner, std::int64_t steps);

}  // namespace trainer
