#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/config/registry.h"
#include "engine/math/updates.h"

namespace trainer {

/// One parameter's part of the slice that a rank updates.
struct Segment {
  std::span<float> values;
  std::span<const float> gradients;  ///< summed over all ranks, of the mean loss
  std::vector<std::span<float>>
      states;  ///< one for each of the optimizer's states, initial() before the first step; others may follow
  bool is_weight = true;       ///< false: a bias or a norm
  int parameter = 0;           ///< index in the network's parameters
  UpdateSums* sums = nullptr;  ///< where wanted: direct() and step() tell of values and states
  float rate = 1;              ///< times the learning rate; 0: frozen

  // Where the optimizer wants norms:
  std::span<float> direction =
      {};  ///< begins as the gradient, where the gradient lies; direct() may change it
  double value_norm = 0, direction_norm = 0;  ///< of the whole parameter; infinity: out of range
};

/// How parameters follow their gradients. Knows no layers and no ranks.
class Optimizer {
 public:
  static constexpr const char* kFamily = "optimizer";
  virtual ~Optimizer() = default;

  /// Names of the numbers kept for each parameter, as they are called in checkpoints: {"momentum"}.
  virtual std::vector<std::string> states() const = 0;
  /// Once, before the first step: for settings that are given in epochs.
  virtual void begin(std::int64_t /*steps_per_epoch*/) {}
  /// The configured learning rate, which a schedule starts from.
  virtual double rate() const = 0;
  /// "sgd lr 0.05 momentum 0.9", for the header.
  virtual std::string text() const = 0;
  /// What every number of its states begins with.
  virtual float initial() const { return 0; }
  /// Whether steps are scaled by norms of whole parameters. Then direct() comes before each step(), and the
  /// norms of values and directions are found in between.
  virtual bool requires_norms() const { return false; }
  virtual void direct(std::span<const Segment> /*segments*/, std::int64_t /*step*/) {}
  /// For schedules that change it from step to step; false when there is none to change.
  virtual bool set_momentum(double /*momentum*/) { return false; }
  /// Several workers may call at once, each with its own segments.
  virtual void step(std::span<const Segment> segments, float rate, std::int64_t step) = 0;
};

}  // namespace trainer
