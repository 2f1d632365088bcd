#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "engine/config/config.h"
#include "engine/core/shape.h"
#include "models/formats/layout.h"

namespace trainer {

/// A parameter as a layer declares it.
struct Parameter {
  std::string name;        ///< "conv1.weight"; the layer gives "weight", the plan puts its own name in front
  Shape shape;             ///< in memory, the part this rank holds
  std::string layer = {};  ///< whose parameter it is, when that is not the layer being set up
  FileLayout layout = FileLayout::as_in_memory;
  bool is_weight = true;                 ///< false: biases and norms, which `decay: weights` spares
  float constant = 0;                    ///< initial value when not a weight
  std::int64_t fan_in = 0, fan_out = 0;  ///< of the whole layer, for initialisers
  /// A shard: indices [cut_first, cut_first + shape[cut_axis]) of `whole` along cut_axis; -1: not cut.
  int cut_axis = -1;
  std::int64_t cut_first = 0;
  std::optional<Shape> whole = {};

  bool summed_by_layer = false;  ///< the layer asks Pass::layer_sums()

  std::optional<Config> init = {};  ///< filled by the plan from the layer's `init`
  float rate = 1;  ///< filled by the plan from the layer's `lr` and `frozen`: times the learning rate
  std::int64_t offset = 0;  ///< filled by the plan: where it begins in the flat buffer, a multiple of 16
  int uses = 1;             ///< filled by the plan: layers that share it

  const Shape& whole_shape() const { return whole ? *whole : shape; }
};

/// What a state of a layer belongs to.
enum class StateUse {
  model,    ///< to the model, like a weight: running statistics
  training  ///< to the run alone: what a recurrent layer keeps of each row of the last batch
};

/// A tensor that a layer keeps between steps and does not learn.
struct State {
  std::string name;
  Shape shape;
  StateUse use = StateUse::model;
  float constant = 0;       ///< initial value
  std::int64_t offset = 0;  ///< filled by the plan
};

/// What a layer calls its parameter by, once the plan has it.
struct ParameterId {
  int index = -1;
  int use = 0;  ///< 0 for the layer that declared it, counted on for those that share it
};
/// The same of a state.
struct StateId {
  int index = -1;
};
/// Memory of a worker: `per_row` floats for each of its rows, or `fixed` floats.
struct BufferId {
  std::int64_t offset = -1, per_row = 0, fixed = 0;
  bool is_scratch = false;  ///< counted from the end of all saved memory
};

}  // namespace trainer
