#include <algorithm>

#include "models/initializers/initializer.h"

namespace trainer {
namespace {

/// The same value everywhere.
class Constant final : public Initializer {
 public:
  explicit Constant(const Config& config) : value_(config.get<float>("value")) {}
  void fill(const Parameter&, const RandomStream&, std::span<float> whole) const override {
    std::ranges::fill(whole, value_);
  }

 private:
  float value_;
};

const Registry<Initializer>::Add constant_initializer{
    {.name = "constant",
     .help = "the same value everywhere",
     .primary = "value",
     .settings = {real("value", "initial value of every weight")}},
    [](const Config& config) { return std::make_unique<Constant>(config); }};

}  // namespace
}  // namespace trainer
