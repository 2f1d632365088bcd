#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/core/arena.h"

namespace trainer {

/// What a virtual worker of local SGD keeps between rounds, and what it gives to the end of a round.
struct LocalWorker {
  int number = 0;
  std::vector<Arena> states;  ///< of its optimizer, each as the flat parameters
  Arena residual;             ///< with one_bit: what it has not sent of its differences; else empty

  // Of the last round:
  Arena difference;          ///< the global parameters minus its own; after a failure: its gradient
  Arena model_states;        ///< as take_model_states()
  std::vector<double> sums;  ///< of BatchRunner: loss, metrics; then labels, and the divisor of the mean loss
  std::chrono::nanoseconds data_time{};
  /// Why it ended the round early.
  struct Failure {
    std::int64_t step = 0;  ///< counted from 0
    double loss = 0;
    std::string array;  ///< a parameter or a state that is not finite; empty: the loss or a gradient
  };
  std::optional<Failure> failure;
};

}  // namespace trainer
