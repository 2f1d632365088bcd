#include <algorithm>
#include <numbers>

#include "engine/core/elementary.h"
#include "models/schedules/schedule.h"

namespace trainer {
namespace {

/// Half a cosine from the learning rate down to `final` over the run, or over each period (Loshchilov and
/// Hutter 2017, "SGDR").
class Cosine final : public Schedule {
 public:
  Cosine(const Config& config, const ScheduleContext& context)
      : rate_(context.rate),
        final_(config.get<double>("final")),
        period_(config.has("period") ? context.steps(config.get<Duration>("period")) : context.total_steps),
        restarts_(config.has("period")),
        growth_(config.get<double>("growth")) {
    if (growth_ != 1 && !restarts_)
      config.fail("growth", "growth requires a period", "add `period: {epochs: 10}`");
  }
  double at(std::int64_t step) const override {
    auto place = static_cast<double>(step), length = static_cast<double>(period_);
    if (!restarts_) {
      place = std::min(place, length);
    } else {
      for (; place >= length; length *= growth_) place -= length;
    }
    const double height = length > 0 ? (1 + elementary::cos(std::numbers::pi * place / length)) / 2 : 1;
    return final_ + (rate_ - final_) * height;
  }

 private:
  double rate_, final_;
  std::int64_t period_;
  bool restarts_;
  double growth_;
};

const Registry<Schedule, const ScheduleContext&>::Add cosine_schedule{
    {.name = "cosine",
     .help = "half a cosine from the learning rate down to `final`",
     .primary = "final",
     .settings =
         {real("final", "learning rate at the end").at_least(0).fallback("0"),
          duration("period", "time between restarts from the learning rate; without it there are none")
              .at_least(1)
              .optional(),
          real("growth", "length of a period divided by that of the one before").at_least(1).fallback("1")}},
    [](const Config& config, const ScheduleContext& context) {
      return std::make_unique<Cosine>(config, context);
    }};

}  // namespace
}  // namespace trainer
