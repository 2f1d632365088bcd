#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace trainer {

/// The last few losses, to show how a run diverged.
class LossHistory {
 public:
  void add(double loss);
  /// "2.31 > 18.4 > 3.1e+07 > NaN"
  std::string text() const;
  double last() const { return losses_[static_cast<std::size_t>(count_ - 1) % losses_.size()]; }

 private:
  std::array<double, 4> losses_{};
  std::int64_t count_ = 0;
};

/// Three digits, "NaN" or "infinity".
std::string value_text(double number);

}  // namespace trainer
