#include <algorithm>
#include <limits>

#include "models/schedules/schedule.h"

namespace trainer {
namespace {

/// The learning rate, multiplied by `factor` when the loss of evaluations stops falling; PyTorch's
/// ReduceLROnPlateau.
class Plateau final : public Schedule {
 public:
  Plateau(const Config& config, const ScheduleContext& context)
      : rate_(context.rate),
        factor_(config.get<double>("factor")),
        least_(config.get<double>("least")),
        threshold_(config.get<double>("threshold")),
        patience_(static_cast<double>(config.get<std::int64_t>("patience"))),
        pause_(static_cast<double>(config.get<std::int64_t>("pause"))) {
    if (!context.evaluates)
      config.fail("", "plateau follows the loss of evaluations, and the run has none",
                  "`data: {validation: 0.1}` and train.evaluate: epoch");
  }
  double at(std::int64_t) const override { return rate_; }

  void see(double loss) override {
    if (loss < best_ * (1 - threshold_)) {
      best_ = loss;
      waited_ = 0;
    } else {
      ++waited_;
    }
    if (pausing_ > 0) {
      --pausing_;
      waited_ = 0;
    }
    if (waited_ <= patience_) return;
    rate_ = std::max(rate_ * factor_, std::min(rate_, least_));
    pausing_ = pause_;
    waited_ = 0;
  }
  std::vector<double> state() const override { return {rate_, best_, waited_, pausing_}; }
  void restore(std::span<const double> state) override {
    rate_ = state[0];
    best_ = state[1];
    waited_ = state[2];
    pausing_ = state[3];
  }

 private:
  double rate_, factor_, least_, threshold_, patience_, pause_;
  double best_ = std::numeric_limits<double>::infinity();
  double waited_ = 0, pausing_ = 0;  ///< evaluations
};

const Registry<Schedule, const ScheduleContext&>::Add plateau_schedule{
    {.name = "plateau",
     .help = "the learning rate is multiplied by a factor when the loss of evaluations stops falling",
     .settings = {real("factor", "the factor").above(0).below(1).fallback("0.1"),
                  integer("patience", "evaluations without improvement before the rate drops")
                      .at_least(0)
                      .fallback("10"),
                  integer("pause", "evaluations that do not count after a drop").at_least(0).fallback("0"),
                  real("threshold", "improvement that counts, relative to the lowest loss")
                      .at_least(0)
                      .below(1)
                      .fallback("1e-4"),
                  real("least", "lowest learning rate").at_least(0).fallback("0")}},
    [](const Config& config, const ScheduleContext& context) {
      return std::make_unique<Plateau>(config, context);
    }};

}  // namespace
}  // namespace trainer
