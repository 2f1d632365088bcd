#include <cmath>

#include "engine/core/elementary.h"
#include "models/schedules/schedule.h"

namespace trainer {
namespace {

/// rate * factor^(step / period), continuous or in stairs.
class Exponential final : public Schedule {
 public:
  Exponential(const Config& config, const ScheduleContext& context)
      : rate_(context.rate),
        factor_(config.get<double>("factor")),
        period_(context.steps(config.get<Duration>("every"))),
        staircase_(config.get<bool>("staircase")) {}
  double at(std::int64_t step) const override {
    const double periods = static_cast<double>(step) / static_cast<double>(period_);
    return rate_ * elementary::pow(factor_, staircase_ ? std::floor(periods) : periods);
  }

 private:
  double rate_, factor_;
  std::int64_t period_;
  bool staircase_;
};

const Registry<Schedule, const ScheduleContext&>::Add exponential_schedule{
    {.name = "exponential",
     .help = "the learning rate is multiplied by a factor in every period",
     .settings = {real("factor", "the factor").above(0),
                  duration("every", "the period").at_least(1).fallback("{epochs: 1}"),
                  boolean("staircase", "multiply at the end of each period, not a little at each step")
                      .fallback("false")}},
    [](const Config& config, const ScheduleContext& context) {
      return std::make_unique<Exponential>(config, context);
    }};

}  // namespace
}  // namespace trainer
