#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/config/registry.h"

namespace trainer {

/// A range of one parameter that a rank updates. All spans have the same length.
struct Segment {
  static constexpr std::size_t kMaxStates = 4;

  std::span<float> values;
  std::span<const float> gradients;  ///< of the mean loss, summed over all ranks
  /// Those of Optimizer::states() in order, then the EMA if there is one; the others are empty.
  std::array<std::span<float>, kMaxStates> states;
  bool is_weight = true;  ///< false: a bias or a norm
  int parameter = 0;      ///< index in the network's parameters
  float rate = 1;         ///< factor of the learning rate; 0: frozen

  // For an optimizer that requires norms of whole parameters:
  std::span<float> direction = {};            ///< the memory of `gradients`; find_directions() may change it
  double value_norm = 0, direction_norm = 0;  ///< of the whole parameter; infinity: out of range

  // For an optimizer that requires matrices, of one that is whole here, (rows, columns) in memory; 0: none.
  std::int64_t rows = 0, columns = 0;
  std::span<float> scratch = {};  ///< as many floats as scratch_floats() asks for; of this thread

  /// `count` floats from `first` on.
  Segment part(std::size_t first, std::size_t count) const {
    Segment part = *this;
    const auto cut = [=](auto& floats) { floats = floats.subspan(first, count); };
    cut(part.values);
    cut(part.gradients);
    for (auto& state : part.states)
      if (!state.empty()) cut(state);
    if (!direction.empty()) cut(part.direction);
    return part;
  }
};

/// An update rule. It sees segments of parameters, neither layers nor ranks.
class Optimizer {
 public:
  static constexpr const char* kFamily = "optimizer";
  virtual ~Optimizer() = default;

  /// Names of its arrays of state in checkpoints, each as large as the parameters: {"momentum"}.
  virtual std::vector<std::string> states() const = 0;
  /// Called once before the first step, for settings that are given in epochs.
  virtual void begin(std::int64_t /*steps_per_epoch*/) {}
  /// The configured learning rate, which a schedule changes.
  virtual double rate() const = 0;
  /// "sgd lr 0.05 momentum 0.9", for the header.
  virtual std::string text() const = 0;
  /// The value of every element of its states before the first step.
  virtual float initial() const { return 0; }
  /// True if steps depend on norms of whole parameters: those of values and directions are set before each
  /// step(), after find_directions().
  virtual bool requires_norms() const { return false; }
  /// True if find_directions() changes directions and states.
  virtual bool finds_directions() const { return false; }
  /// True if step() changes states.
  virtual bool steps_states() const { return !finds_directions(); }
  /// True if find_directions() requires each hidden matrix (NetworkPlan) as one segment.
  virtual bool requires_matrices() const { return false; }
  /// The size of Segment::scratch for a matrix.
  virtual std::int64_t scratch_floats(std::int64_t /*rows*/, std::int64_t /*columns*/) const { return 0; }
  virtual void find_directions(std::span<const Segment> /*segments*/, std::int64_t /*step*/) {}
  /// For schedules of momentum; returns false if the rule has no momentum.
  virtual bool set_momentum(double /*momentum*/) { return false; }
  /// Updates values and states. `rate`: the learning rate; `step`: steps done. Workers call it at the same
  /// time with different segments.
  virtual void step(std::span<const Segment> segments, float rate, std::int64_t step) = 0;
};

}  // namespace trainer
