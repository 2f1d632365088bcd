#include <fmt/format.h>

#include "engine/math/updates.h"
#include "models/optimizers/settings.h"

namespace trainer {
namespace {

/// Adadelta (Zeiler 2012), as PyTorch defines it.
class Adadelta final : public Optimizer {
 public:
  explicit Adadelta(const Config& config)
      : rate_(config.get<double>("lr")),
        rho_(config.get<float>("rho")),
        epsilon_(config.get<float>("epsilon")),
        decay_(config) {}

  std::vector<std::string> states() const override { return {"square", "delta"}; }
  double rate() const override { return rate_; }
  std::string text() const override {
    return fmt::format("adadelta lr {} rho {}{}", rate_, rho_, decay_.text());
  }
  void step(std::span<const Segment> segments, float rate, std::int64_t) override {
    AdadeltaStep update{.rate = rate, .rho = rho_, .epsilon = epsilon_};
    for (const Segment& segment : segments) {
      update.decay = decay_.of(segment);
      adadelta_update(std::ssize(segment.values), update, segment.gradients.data(), segment.states[0].data(),
                      segment.states[1].data(), segment.values.data());
    }
  }

 private:
  double rate_;
  float rho_, epsilon_;
  WeightDecay decay_;
};

const Registry<Optimizer>::Add adadelta_optimizer{
    {.name = "adadelta",
     .help = "steps scaled by running means of the squares of gradients and of steps; needs no learning rate",
     .settings = with_weight_decay(
         {rate_setting().fallback("1"),
          real("rho", "decay rate of the running means").at_least(0).below(1).fallback("0.9"),
          epsilon_setting("added to both mean squares", "1e-6")},
         "L2 penalty: this factor times the parameter is added to its gradient")},
    [](const Config& config) { return std::make_unique<Adadelta>(config); }};

}  // namespace
}  // namespace trainer
