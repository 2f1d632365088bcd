#pragma once

#include <string>
#include <vector>

#include "models/optimizers/optimizer.h"

namespace trainer {

/// The keys `weight_decay` and `decay` of an optimizer: the factor, and the parameters that it holds for.
class WeightDecay {
 public:
  static std::vector<Setting> settings(const std::string& help, const std::string& strength = "0");
  explicit WeightDecay(const Config& config);

  float of(const Segment& segment) const {
    if (spares_biases_ && !segment.is_weight) return 0;
    return ignores_rates_ && segment.rate > 0 ? strength_ / segment.rate : strength_;
  }
  /// " weight decay 0.1", or nothing, for the header.
  std::string text() const;

 private:
  float strength_;
  bool spares_biases_, ignores_rates_;
};

/// The key `betas` of adam and similar optimizers: the decay rates of two running means.
struct Betas {
  static Setting setting(const std::string& help, const std::string& fallback);
  explicit Betas(const Config& config);

  /// Corrects the bias of means that begin at zero (Kingma and Ba 2015, section 3).
  struct Correction {
    double scale;    ///< factor of the step
    double epsilon;  ///< factor of the epsilon that is added to the root of the mean square
  };
  Correction correction(std::int64_t steps_done) const;

  double first, second;
};

/// The key `adapt` of lars and lamb, which scale the step of a parameter by norms: of which.
class Adaptation {
 public:
  static Setting setting(const std::string& fallback);
  explicit Adaptation(const Config& config);

  /// norm of the values / `length`; 1 if nothing is scaled, or a norm is 0 or infinite.
  double ratio(const Segment& segment, double length) const;

 private:
  bool all_;
};

/// Settings that several optimizers have in common, in the order of the key reference.
Setting rate_setting();
Setting epsilon_setting(const std::string& help, const std::string& fallback);
std::vector<Setting> with_weight_decay(std::vector<Setting> settings, const std::string& help,
                                       const std::string& strength = "0");

}  // namespace trainer
