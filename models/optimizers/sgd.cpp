#include <fmt/format.h>

#include "engine/math/elementwise.h"
#include "models/optimizers/settings.h"

namespace trainer {
namespace {

/// Stochastic gradient descent with momentum (Nesterov's, if asked for) and weight decay, as PyTorch defines
/// them.
class Sgd final : public Optimizer {
 public:
  explicit Sgd(const Config& config)
      : rate_(config.get<double>("lr")),
        momentum_(config.get<float>("momentum")),
        nesterov_(config.get<bool>("nesterov")),
        decay_(config) {
    if (nesterov_ && momentum_ == 0)
      config.fail("nesterov", "nesterov without momentum does nothing", "add `momentum: 0.9`");
  }

  std::vector<std::string> states() const override {
    return momentum_ > 0 ? std::vector<std::string>{"momentum"} : std::vector<std::string>{};
  }
  double rate() const override { return rate_; }
  std::string text() const override {
    std::string text = fmt::format("sgd lr {}", rate_);
    if (momentum_ > 0) text += fmt::format("{} momentum {}", nesterov_ ? " nesterov" : "", momentum_);
    return text + decay_.text();
  }
  void step(std::span<const Segment> segments, float rate, std::int64_t) override {
    for (const Segment& segment : segments)
      sgd_update(static_cast<std::int64_t>(segment.values.size()), rate, momentum_, decay_.of(segment),
                 nesterov_, segment.gradients.data(), momentum_ > 0 ? segment.states[0].data() : nullptr,
                 segment.values.data());
  }

 private:
  double rate_;
  float momentum_;
  bool nesterov_;
  WeightDecay decay_;
};

const Registry<Optimizer>::Add registered{
    {.name = "sgd",
     .help = "stochastic gradient descent",
     .settings = with_weight_decay(
         {rate_setting(),
          real("momentum", "part of the last update that is kept").at_least(0).below(1).fallback("0"),
          boolean("nesterov", "take the gradient as if one step ahead along the momentum").fallback("false")},
         "so many times the parameter is added to its gradient")},
    [](const Config& config) { return std::make_unique<Sgd>(config); }};

}  // namespace
}  // namespace trainer
