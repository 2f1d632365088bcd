#include <algorithm>
#include <numbers>

#include "engine/core/elementary.h"
#include "models/schedules/schedule.h"

namespace trainer {
namespace {

/// 1cycle (Smith and Topin 2018): up from a small learning rate to the configured one, then down to almost 0,
/// both along half a cosine as in PyTorch. Momentum, if given, falls and rises the other way.
class OneCycle final : public Schedule {
 public:
  OneCycle(const Config& config, const ScheduleContext& context)
      : rate_(context.rate),
        start_(context.rate / config.get<double>("start_divisor")),
        final_(start_ / config.get<double>("final_divisor")),
        last_(static_cast<double>(context.total_steps - 1)),
        top_(config.get<double>("rise") * static_cast<double>(context.total_steps) - 1) {
    if (context.warmup > 0)
      config.fail("", "one_cycle begins with a rise of its own and takes no warm-up",
                  "remove train.warmup, and set `rise`");
    if (!config.has("momentum")) return;
    const Config momentum = config.at("momentum");
    high_ = momentum.get<double>("high");
    low_ = momentum.get<double>("low");
    if (*high_ < low_) momentum.fail("high", "the high momentum is below the low one");
  }
  double at(std::int64_t step) const override { return along(step, start_, rate_, final_); }
  std::optional<double> momentum(std::int64_t step) const override {
    if (!high_) return std::nullopt;
    return along(step, *high_, low_, *high_);
  }

 private:
  double along(std::int64_t step, double start, double top, double end) const {
    const auto place = static_cast<double>(step);
    if (place <= top_) return between(start, top, top_ > 0 ? place / top_ : 1);
    return between(top, end, last_ > top_ ? std::min((place - top_) / (last_ - top_), 1.0) : 1);
  }
  static double between(double from, double to, double part) {
    return to + (from - to) * (1 + elementary::cos(std::numbers::pi * part)) / 2;
  }

  double rate_, start_, final_;
  double last_;                 ///< the last step
  double top_;                  ///< the step of the highest rate
  std::optional<double> high_;  ///< momentum at both ends, if it changes
  double low_ = 0;              ///< and at the highest rate
};

const Registry<Schedule, const ScheduleContext&>::Add one_cycle_schedule{
    {.name = "one_cycle",
     .help = "up to the learning rate and down again, along half cosines, once in the run",
     .settings =
         {real("rise", "share of the run in which the rate rises").at_least(0).at_most(1).fallback("0.3"),
          real("start_divisor", "the first rate is the learning rate divided by this")
              .at_least(1)
              .fallback("25"),
          real("final_divisor", "the last rate is the first one divided by this").at_least(1).fallback("1e4"),
          section("momentum",
                  "the optimizer's momentum (beta1 of adam and similar ones) falls while the rate rises",
                  {real("high", "momentum at both ends").at_least(0).below(1).fallback("0.95"),
                   real("low", "momentum at the highest rate").at_least(0).below(1).fallback("0.85")})
              .optional()}},
    [](const Config& config, const ScheduleContext& context) {
      return std::make_unique<OneCycle>(config, context);
    }};

}  // namespace
}  // namespace trainer
