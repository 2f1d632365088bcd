#include <fmt/format.h>

#include "engine/math/updates.h"
#include "models/optimizers/settings.h"

namespace trainer {
namespace {

/// Adagrad (Duchi, Hazan and Singer 2011), as PyTorch defines it.
class Adagrad final : public Optimizer {
 public:
  explicit Adagrad(const Config& config)
      : rate_(config.get<double>("lr")),
        rate_decay_(config.get<double>("lr_decay")),
        initial_(config.get<float>("initial")),
        epsilon_(config.get<float>("epsilon")),
        decay_(config) {}

  std::vector<std::string> states() const override { return {"sum"}; }
  double rate() const override { return rate_; }
  std::string text() const override { return fmt::format("adagrad lr {}{}", rate_, decay_.text()); }
  void step(std::span<const Segment> segments, float rate, std::int64_t step) override {
    AdagradStep update{.rate = static_cast<float>(rate / (1 + static_cast<double>(step) * rate_decay_)),
                       .epsilon = epsilon_};
    for (const Segment& segment : segments) {
      update.decay = decay_.of(segment);
      adagrad_update(std::ssize(segment.values), update, segment.gradients.data(), segment.states[0].data(),
                     segment.values.data());
    }
  }
  float initial() const override { return initial_; }

 private:
  double rate_, rate_decay_;
  float initial_, epsilon_;
  WeightDecay decay_;
};

const Registry<Optimizer>::Add adagrad_optimizer{
    {.name = "adagrad",
     .help = "steps divided by the root of the sum of all squared gradients",
     .settings =
         with_weight_decay({rate_setting().fallback("0.01"),
                            real("lr_decay", "the learning rate is divided by 1 + lr_decay x steps done")
                                .at_least(0)
                                .fallback("0"),
                            real("initial", "initial value of the sum").at_least(0).fallback("0"),
                            epsilon_setting("added to the root", "1e-10")},
                           "L2 penalty: this factor times the parameter is added to its gradient")},
    [](const Config& config) { return std::make_unique<Adagrad>(config); }};

}  // namespace
}  // namespace trainer
