#pragma once

#include <string>
#include <vector>

#include "models/optimizers/optimizer.h"

namespace trainer {

/// The keys `weight_decay` and `decay` of an optimizer: how strongly parameters are drawn to zero, and which.
class WeightDecay {
 public:
  static std::vector<Setting> settings(const std::string& help, const std::string& strength = "0");
  explicit WeightDecay(const Config& config);

  float of(const Segment& segment) const { return segment.is_weight || all_ ? strength_ : 0; }
  /// " weight decay 0.1", or nothing, for the header.
  std::string text() const;

 private:
  float strength_;
  bool all_;
};

/// The key `betas` of adam and its kin: how much of two running means is kept at each step.
struct Betas {
  static Setting setting(const std::string& help, const std::string& fallback);
  explicit Betas(const Config& config);

  /// Both means begin at zero: what turns a step by them into one by what they would be, had they begun long
  /// ago.
  struct Correction {
    double scale;    ///< times the step
    double epsilon;  ///< times what is added to the root of the mean square
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
