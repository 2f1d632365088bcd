#include <algorithm>

#include "engine/core/elementary.h"
#include "models/schedules/schedule.h"

namespace trainer {
namespace {

/// The learning rate, multiplied by `factor` at each of some steps of the run.
class Step final : public Schedule {
 public:
  Step(const Config& config, const ScheduleContext& context)
      : rate_(context.rate), factor_(config.get<double>("factor")) {
    for (const Duration& duration : config.get<std::vector<Duration>>("at"))
      // A moment within the warm-up takes effect after it, so that the warm-up reaches the rate.
      moments_.push_back(
          std::max<std::int64_t>(context.steps(duration) - context.warmup, context.warmup > 0));
  }
  double at(std::int64_t step) const override {
    const auto passed =
        std::ranges::count_if(moments_, [step](std::int64_t moment) { return moment <= step; });
    return rate_ * elementary::pow(factor_, static_cast<double>(passed));
  }

 private:
  double rate_, factor_;
  std::vector<std::int64_t> moments_;
};

const Registry<Schedule, const ScheduleContext&>::Add step_schedule{
    {.name = "step",
     .help = "the learning rate is multiplied by a factor at given times",
     .settings = {durations(
                      "at",
                      "{epochs: [82, 123]} or {steps: [32000, 48000]}, counted from the start of the run"),
                  real("factor", "the factor").above(0).fallback("0.1")}},
    [](const Config& config, const ScheduleContext& context) {
      return std::make_unique<Step>(config, context);
    }};

}  // namespace
}  // namespace trainer
