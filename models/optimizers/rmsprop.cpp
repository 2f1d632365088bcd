#include <fmt/format.h>

#include "engine/math/updates.h"
#include "models/optimizers/settings.h"

namespace trainer {
namespace {

/// RMSprop (Tieleman and Hinton 2012), as PyTorch defines it.
class Rmsprop final : public Optimizer {
 public:
  explicit Rmsprop(const Config& config)
      : rate_(config.get<double>("lr")),
        settings_{.smoothing = config.get<float>("smoothing"),
                  .epsilon = config.get<float>("epsilon"),
                  .momentum = config.get<float>("momentum")},
        centered_(config.get<bool>("centered")),
        decay_(config) {}

  std::vector<std::string> states() const override {
    std::vector<std::string> names{"square"};
    if (centered_) names.push_back("mean");
    if (settings_.momentum > 0) names.push_back("momentum");
    return names;
  }
  double rate() const override { return rate_; }
  std::string text() const override {
    std::string text = fmt::format("rmsprop lr {} smoothing {}", rate_, settings_.smoothing);
    if (settings_.momentum > 0) text += fmt::format(" momentum {}", settings_.momentum);
    return text + decay_.text();
  }
  void step(std::span<const Segment> segments, float rate, std::int64_t) override {
    RmspropStep update = settings_;
    update.rate = rate;
    for (const Segment& segment : segments) {
      update.decay = decay_.of(segment);
      rmsprop_update(std::ssize(segment.values), update, segment.gradients.data(), segment.states[0].data(),
                     centered_ ? segment.states[1].data() : nullptr,
                     settings_.momentum > 0 ? segment.states[centered_ ? 2 : 1].data() : nullptr,
                     segment.values.data());
    }
  }

 private:
  double rate_;
  RmspropStep settings_;
  bool centered_;
  WeightDecay decay_;
};

const Registry<Optimizer>::Add rmsprop_optimizer{
    {.name = "rmsprop",
     .help = "steps divided by the root of a running mean of squared gradients",
     .settings = with_weight_decay(
         {rate_setting().fallback("0.01"),
          real("smoothing", "decay rate of the running means").at_least(0).below(1).fallback("0.99"),
          epsilon_setting("added to the root", "1e-8"),
          real("momentum", "factor of the last update in this one").at_least(0).below(1).fallback("0"),
          boolean("centered",
                  "divide by the standard deviation of the gradients, not by their root mean square")
              .fallback("false")},
         "L2 penalty: this factor times the parameter is added to its gradient")},
    [](const Config& config) { return std::make_unique<Rmsprop>(config); }};

}  // namespace
}  // namespace trainer
