#include "models/optimizers/outer_optimizer.h"

#include <fmt/format.h>

#include "engine/math/updates.h"

namespace trainer {
namespace {

/// The new parameters are the mean (local SGD, arXiv:1805.09767).
class Average final : public OuterOptimizer {
 public:
  std::vector<std::string> states() const override { return {}; }
  double rate() const override { return 1; }
  std::string text() const override { return "average"; }
  void step(std::span<const Segment> segments, float, std::int64_t) override {
    for (const Segment& segment : segments)
      sgd_update(std::ssize(segment.values), {.rate = 1}, segment.gradients.data(), nullptr,
                 segment.values.data());
  }
};

/// SGD with Nesterov momentum as PyTorch defines it (DiLoCo, arXiv:2311.08105, section 2).
class Nesterov final : public OuterOptimizer {
 public:
  explicit Nesterov(const Config& config)
      : rate_(config.get<float>("lr")), momentum_(config.get<float>("momentum")) {}

  std::vector<std::string> states() const override { return {"outer_momentum"}; }
  double rate() const override { return static_cast<double>(rate_); }
  std::string text() const override { return fmt::format("nesterov lr {} momentum {}", rate_, momentum_); }
  void step(std::span<const Segment> segments, float, std::int64_t) override {
    for (const Segment& segment : segments)
      sgd_update(std::ssize(segment.values), {.rate = rate_, .momentum = momentum_, .nesterov = true},
                 segment.gradients.data(), segment.states[0].data(), segment.values.data());
  }

 private:
  float rate_, momentum_;
};

const Registry<OuterOptimizer>::Add average_outer_optimizer{
    {.name = "average", .help = "the mean of the virtual workers' parameters"},
    [](const Config&) { return std::make_unique<Average>(); }};
const Registry<OuterOptimizer>::Add nesterov_outer_optimizer{
    {.name = "nesterov",
     .help = "Nesterov momentum along the way from the global parameters to the mean (DiLoCo)",
     .settings =
         {real("lr", "learning rate of the outer step; 1 and momentum 0 average").above(0).fallback("0.7"),
          real("momentum", "factor of the last outer step in this one")
              .at_least(0)
              .below(1)
              .fallback("0.9")}},
    [](const Config& config) { return std::make_unique<Nesterov>(config); }};

}  // namespace
}  // namespace trainer
