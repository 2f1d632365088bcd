#include <fmt/format.h>

#include "engine/math/updates.h"
#include "models/optimizers/settings.h"

namespace trainer {
namespace {

/// Lion (Chen et al. 2023, "Symbolic discovery of optimization algorithms", algorithm 2).
class Lion final : public Optimizer {
 public:
  explicit Lion(const Config& config) : rate_(config.get<double>("lr")), betas_(config), decay_(config) {}

  std::vector<std::string> states() const override { return {"mean"}; }
  double rate() const override { return rate_; }
  std::string text() const override {
    return fmt::format("lion lr {} betas {} {}{}", rate_, betas_.first, betas_.second, decay_.text());
  }
  void step(std::span<const Segment> segments, float rate, std::int64_t) override {
    LionStep update{
        .rate = rate, .beta1 = static_cast<float>(betas_.first), .beta2 = static_cast<float>(betas_.second)};
    for (const Segment& segment : segments) {
      update.shrink = decay_.of(segment) * rate;
      lion_update(std::ssize(segment.values), update, segment.gradients.data(), segment.states[0].data(),
                  segment.values.data());
    }
  }

 private:
  double rate_;
  Betas betas_;
  WeightDecay decay_;
};

const Registry<Optimizer>::Add lion_optimizer{
    {.name = "lion",
     .help = "steps along the sign of a running mean of the gradient; takes about a tenth of the learning "
             "rate of adam",
     .settings = with_weight_decay(
         {rate_setting().fallback("1e-4"),
          Betas::setting(
              "decay rates of the running mean of the gradient: for the direction, and from step to step",
              "[0.9, 0.99]")},
         "decoupled weight decay: a step multiplies the parameter by 1 - lr x weight_decay")},
    [](const Config& config) { return std::make_unique<Lion>(config); }};

}  // namespace
}  // namespace trainer
