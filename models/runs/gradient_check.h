#pragma once

#include <functional>
#include <string>

#include "models/training/session.h"

namespace trainer {

/// How a parameter's gradient compares with differences of the loss.
struct CheckedGradient {
  std::string layer, parameter;  ///< "dense1", "weight"
  std::int64_t elements = 0;
  bool follows_loss = true;  ///< false: it learns by contrastive divergence, and is not compared
  double norm = 0;           ///< of the gradient
  double worst_error = 0;    ///< relative, of the directions that are decided
  int decided = 0;           ///< of kDirections; elsewhere the loss has kinks, or changes by too little
  bool is_right() const { return worst_error <= kTolerance; }
  static constexpr int kDirections = 8;
  static constexpr double kTolerance = 0.02;
};

/// Compares backward with finite differences of the mean loss, for each parameter that learns and several
/// directions, at the initial values; those of a parameter that are all equal are first moved at random. The
/// network computes in float32 and the loss is added up in double precision. A direction is decided where
/// differences by two successive steps agree with a smooth loss; relu and max_pool have kinks, so what is
/// undecided or wrong on one batch is compared on up to four others. `session` has one rank and one thread,
/// and its samples are loaded. `report` gets each parameter as soon as it is compared, in the network's
/// order.
void check_gradients(const Config& root, Session& session,
                     const std::function<void(const CheckedGradient&)>& report);

}  // namespace trainer
