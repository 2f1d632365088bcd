// adam and adamw: the same but for how weights decay.
#include <fmt/format.h>

#include "engine/math/updates.h"
#include "models/optimizers/settings.h"

namespace trainer {
namespace {

/// Adam (Kingma and Ba 2015), and with weights that decay by themselves AdamW (Loshchilov and Hutter 2019),
/// as PyTorch defines them.
class Adam final : public Optimizer {
 public:
  Adam(const Config& config, bool decoupled)
      : name_(config.type()),
        rate_(config.get<double>("lr")),
        betas_(config),
        epsilon_(config.get<float>("epsilon")),
        decay_(config),
        decoupled_(decoupled) {}

  std::vector<std::string> states() const override { return {"mean", "square"}; }
  double rate() const override { return rate_; }
  bool set_momentum(double momentum) override {
    betas_.first = momentum;
    return true;
  }
  std::string text() const override {
    return fmt::format("{} lr {} betas {} {}{}", name_, rate_, betas_.first, betas_.second, decay_.text());
  }
  void step(std::span<const Segment> segments, float rate, std::int64_t step) override {
    const Betas::Correction correction = betas_.correction(step);
    AdamStep update{.rate = static_cast<float>(rate * correction.scale),
                    .epsilon = static_cast<float>(epsilon_ * correction.epsilon),
                    .beta1 = static_cast<float>(betas_.first),
                    .beta2 = static_cast<float>(betas_.second)};
    for (const Segment& segment : segments) {
      (decoupled_ ? update.shrink : update.decay) = decay_.of(segment) * (decoupled_ ? rate : 1);
      adam_update(std::ssize(segment.values), update, segment.gradients.data(), segment.states[0].data(),
                  segment.states[1].data(), segment.values.data());
    }
  }

 private:
  std::string name_;
  double rate_;
  Betas betas_;
  float epsilon_;
  WeightDecay decay_;
  bool decoupled_;
};

std::vector<Setting> adam_settings(const std::string& decay_help, const std::string& decay) {
  return with_weight_decay(
      {rate_setting().fallback("0.001"),
       Betas::setting("decay rates of the running means of the gradient and of its square", "[0.9, 0.999]"),
       epsilon_setting("added to the root of the mean square", "1e-8")},
      decay_help, decay);
}

const Registry<Optimizer>::Add adam_optimizer{
    {.name = "adam",
     .help = "steps along the running mean of the gradient, divided by the root of the running mean of its "
             "square",
     .settings = adam_settings("L2 penalty: this factor times the parameter is added to its gradient", "0")},
    [](const Config& config) { return std::make_unique<Adam>(config, false); }};

const Registry<Optimizer>::Add adamw_optimizer{
    {.name = "adamw",
     .help = "adam with decoupled weight decay",
     .settings = adam_settings(
         "decoupled weight decay: a step multiplies the parameter by 1 - lr x weight_decay", "0.01")},
    [](const Config& config) { return std::make_unique<Adam>(config, true); }};

}  // namespace
}  // namespace trainer
