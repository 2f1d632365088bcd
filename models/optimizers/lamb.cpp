#include <fmt/format.h>

#include "engine/math/updates.h"
#include "models/optimizers/settings.h"

namespace trainer {
namespace {

/// LAMB (You et al. 2020, "Large batch optimization for deep learning", algorithm 2): adam's direction, as
/// long as the parameter.
class Lamb final : public Optimizer {
 public:
  explicit Lamb(const Config& config)
      : rate_(config.get<double>("lr")),
        betas_(config),
        epsilon_(config.get<float>("epsilon")),
        adaptation_(config),
        decay_(config) {}

  std::vector<std::string> states() const override { return {"mean", "square"}; }
  double rate() const override { return rate_; }
  std::string text() const override {
    return fmt::format("lamb lr {} betas {} {}{}", rate_, betas_.first, betas_.second, decay_.text());
  }
  bool requires_norms() const override { return true; }
  bool finds_directions() const override { return true; }
  bool set_momentum(double momentum) override {
    betas_.first = momentum;
    return true;
  }
  void find_directions(std::span<const Segment> segments, std::int64_t step) override {
    const Betas::Correction correction = betas_.correction(step);
    LambDirection update{.scale = static_cast<float>(correction.scale),
                         .epsilon = static_cast<float>(epsilon_ * correction.epsilon),
                         .beta1 = static_cast<float>(betas_.first),
                         .beta2 = static_cast<float>(betas_.second)};
    for (const Segment& segment : segments) {
      update.decay = decay_.of(segment);
      lamb_direction(std::ssize(segment.values), update, segment.gradients.data(), segment.states[0].data(),
                     segment.states[1].data(), segment.values.data(), segment.direction.data());
    }
  }
  void step(std::span<const Segment> segments, float rate, std::int64_t) override {
    for (const Segment& segment : segments) {
      const double length = adaptation_.ratio(segment, segment.direction_norm);
      sgd_update(std::ssize(segment.values), {.rate = static_cast<float>(rate * length)},
                 segment.direction.data(), nullptr, segment.values.data());
    }
  }

 private:
  double rate_;
  Betas betas_;
  float epsilon_;
  Adaptation adaptation_;
  WeightDecay decay_;
};

const Registry<Optimizer>::Add lamb_optimizer{
    {.name = "lamb",
     .help = "steps along the direction of adam, as long as the learning rate times the norm of the "
             "parameter; for very large batches",
     .settings = with_weight_decay(
         {rate_setting().fallback("0.001"),
          Betas::setting("decay rates of the running means of the gradient and of its square",
                         "[0.9, 0.999]"),
          epsilon_setting("added to the root of the mean square", "1e-6"), Adaptation::setting("all")},
         "weight decay: this factor times the parameter is added to the direction of adam", "0.01")},
    [](const Config& config) { return std::make_unique<Lamb>(config); }};

}  // namespace
}  // namespace trainer
