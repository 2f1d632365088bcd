#include <fmt/format.h>

#include "engine/math/updates.h"
#include "models/optimizers/settings.h"

namespace trainer {
namespace {

/// LARS (You, Gitman and Ginsburg 2017, "Large batch training of convolutional networks", algorithm 1): each
/// layer has its own learning rate, in proportion to |w| / (|gradient| + decay |w|).
class Lars final : public Optimizer {
 public:
  explicit Lars(const Config& config)
      : rate_(config.get<double>("lr")),
        trust_(config.get<double>("trust")),
        momentum_(config.get<float>("momentum")),
        adaptation_(config),
        decay_(config) {}

  std::vector<std::string> states() const override { return {"momentum"}; }
  double rate() const override { return rate_; }
  std::string text() const override {
    return fmt::format("lars lr {} momentum {} trust {}{}", rate_, momentum_, trust_, decay_.text());
  }
  bool requires_norms() const override { return true; }
  bool set_momentum(double momentum) override {
    momentum_ = static_cast<float>(momentum);
    return true;
  }
  void step(std::span<const Segment> segments, float rate, std::int64_t) override {
    for (const Segment& segment : segments) {
      const float decay = decay_.of(segment);
      const double length = segment.direction_norm + static_cast<double>(decay) * segment.value_norm;
      const LarsStep update{.rate = static_cast<float>(rate * adaptation_.ratio(segment, length / trust_)),
                            .momentum = momentum_,
                            .decay = decay};
      lars_update(std::ssize(segment.values), update, segment.gradients.data(), segment.states[0].data(),
                  segment.values.data());
    }
  }

 private:
  double rate_, trust_;
  float momentum_;
  Adaptation adaptation_;
  WeightDecay decay_;
};

const Registry<Optimizer>::Add lars_optimizer{
    {.name = "lars",
     .help = "momentum with a learning rate for each parameter, by norms; for very large batches",
     .settings = with_weight_decay(
         {rate_setting(),
          real("trust",
               "trust coefficient: length of a step over the norm of the parameter, before the learning rate")
              .above(0)
              .fallback("0.001"),
          real("momentum", "factor of the last update in this one").at_least(0).below(1).fallback("0.9"),
          Adaptation::setting("weights")},
         "L2 penalty: this factor times the parameter is added to its gradient")},
    [](const Config& config) { return std::make_unique<Lars>(config); }};

}  // namespace
}  // namespace trainer
