#include <algorithm>

#include "engine/core/elementary.h"
#include "models/schedules/schedule.h"

namespace trainer {
namespace {

/// final + (rate - final) * (1 - progress)^power.
class Polynomial final : public Schedule {
 public:
  Polynomial(const Config& config, const ScheduleContext& context)
      : rate_(context.rate),
        final_(config.get<double>("final")),
        power_(config.get<double>("power")),
        steps_(config.has("over") ? context.steps(config.get<Duration>("over")) : context.total_steps) {}
  double at(std::int64_t step) const override {
    const double done =
        steps_ > 0 ? std::min(static_cast<double>(step) / static_cast<double>(steps_), 1.0) : 0;
    return final_ + (rate_ - final_) * elementary::pow(1 - done, power_);
  }

 private:
  double rate_, final_, power_;
  std::int64_t steps_;
};

const Registry<Schedule, const ScheduleContext&>::Add polynomial_schedule{
    {.name = "polynomial",
     .help =
         "from the learning rate down to `final`, by a power of the remaining share of the run; 1 is linear",
     .primary = "power",
     .settings = {real("power", "the power").above(0).fallback("1"),
                  real("final", "learning rate at the end").at_least(0).fallback("0"),
                  duration("over", "time until `final`; without it, the whole run").at_least(1).optional()}},
    [](const Config& config, const ScheduleContext& context) {
      return std::make_unique<Polynomial>(config, context);
    }};

}  // namespace
}  // namespace trainer
