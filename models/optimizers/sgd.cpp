#include <fmt/format.h>

#include <optional>

#include "engine/math/updates.h"
#include "models/optimizers/settings.h"

namespace trainer {
namespace {

/// Stochastic gradient descent with momentum (or Nesterov's) and weight decay, as PyTorch defines
/// them.
class Sgd final : public Optimizer {
 public:
  explicit Sgd(const Config& config)
      : rate_(config.get<double>("lr")),
        momentum_(config.get<float>("momentum")),
        nesterov_(config.get<bool>("nesterov")),
        decay_(config) {
    if (config.has("momentum_rise")) rise_.emplace(config.at("momentum_rise"));
    if (rise_ && rise_->to < momentum_)
      config.fail("momentum_rise", fmt::format("momentum rises from {} to {}", momentum_, rise_->to));
    has_velocity_ = momentum_ > 0 || rise_;
    if (nesterov_ && !has_velocity_)
      config.fail("nesterov", "nesterov without momentum does nothing", "add `momentum: 0.9`");
  }

  std::vector<std::string> states() const override {
    return has_velocity_ ? std::vector<std::string>{"momentum"} : std::vector<std::string>{};
  }
  void begin(std::int64_t steps_per_epoch) override {
    if (rise_) rise_->begin(steps_per_epoch);
  }
  double rate() const override { return rate_; }
  bool set_momentum(double momentum) override {
    if (rise_ || !has_velocity_) return false;
    momentum_ = static_cast<float>(momentum);
    return true;
  }
  std::string text() const override {
    std::string text = fmt::format("sgd lr {}", rate_);
    if (momentum_ > 0) text += fmt::format("{} momentum {}", nesterov_ ? " nesterov" : "", momentum_);
    if (rise_) text += fmt::format("{} to {}", momentum_ > 0 ? "" : " momentum 0", rise_->to);
    return text + decay_.text();
  }
  void step(std::span<const Segment> segments, float rate, std::int64_t step) override {
    SgdStep update{
        .rate = rate, .momentum = rise_ ? rise_->at(step, momentum_) : momentum_, .nesterov = nesterov_};
    for (const Segment& segment : segments) {
      update.decay = decay_.of(segment);
      sgd_update(std::ssize(segment.values), update, segment.gradients.data(),
                 has_velocity_ ? segment.states[0].data() : nullptr, segment.values.data());
    }
  }

 private:
  /// A linear increase of the momentum.
  struct Rise {
    explicit Rise(const Config& config)
        : to(config.get<float>("to")),
          from_time(config.get<Duration>("begin")),
          to_time(config.get<Duration>("end")) {}
    void begin(std::int64_t steps_per_epoch) {
      first = from_time.steps(steps_per_epoch);
      last = to_time.steps(steps_per_epoch);
    }
    float at(std::int64_t step, float from) const {
      if (step >= last) return to;
      if (step <= first) return from;
      return from + (to - from) * static_cast<float>(step - first) / static_cast<float>(last - first);
    }

    float to;
    Duration from_time, to_time;
    std::int64_t first = 0, last = 0;
  };

  double rate_;
  float momentum_;
  bool nesterov_, has_velocity_ = false;
  std::optional<Rise> rise_;
  WeightDecay decay_;
};

const Registry<Optimizer>::Add sgd_optimizer{
    {.name = "sgd",
     .help = "stochastic gradient descent",
     .settings = with_weight_decay(
         {rate_setting(),
          real("momentum", "factor of the last update in this one").at_least(0).below(1).fallback("0"),
          section("momentum_rise", "linear increase of the momentum, step by step",
                  {real("to", "the momentum at the end").at_least(0).below(1),
                   duration("begin", "when it leaves `momentum`").at_least(0).fallback("{steps: 0}"),
                   duration("end", "when it reaches `to`").at_least(1)})
              .optional(),
          boolean("nesterov", "Nesterov momentum: the gradient one step ahead along the momentum")
              .fallback("false")},
         "L2 penalty: this factor times the parameter is added to its gradient")},
    [](const Config& config) { return std::make_unique<Sgd>(config); }};

}  // namespace
}  // namespace trainer
