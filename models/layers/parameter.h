#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/config/config.h"
#include "engine/core/bfloat16.h"
#include "engine/core/shape.h"
#include "models/formats/layout.h"

namespace trainer {

/// A parameter as a layer declares it.
struct Parameter {
  std::string name;        ///< "weight"; the plan prefixes the layer's name: "conv1.weight"
  Shape shape;             ///< in memory; of a shard, the part of this rank
  std::string layer = {};  ///< its layer; the plan sets an empty one to the layer being set up
  FileLayout layout = FileLayout::as_in_memory;
  bool is_weight = true;                 ///< false: biases and norms, which `decay: weights` spares
  float constant = 0;                    ///< initial value when not a weight
  std::int64_t fan_in = 0, fan_out = 0;  ///< of the whole layer, for initializers
  std::int64_t groups = 1;               ///< of outputs, each with inputs of its own
  /// A shard: indices [shard_first, shard_first + shape[shard_axis]) of `whole` along shard_axis; -1: not a
  /// shard. With several groups the axis has a part for each, and the numbers are their relative lengths: of
  /// a part of length n the shard has n indices from n shard_first on, for each index of the shortest.
  int shard_axis = -1;
  std::vector<std::int64_t> shard_groups = {1};
  std::int64_t shard_first = 0;
  std::optional<Shape> whole = {};

  bool summed_by_layer = false;  ///< the layer calls Pass::layer_sums() before it writes the gradient
  bool is_frozen = false;        ///< whatever the layer's `frozen`
  /// Of an adapter: A, which is drawn, or B, which begins at 0. Both train whatever the layer's `frozen`.
  enum class Adapter { none, down, up } adapter = Adapter::none;

  // Set by the plan:
  std::optional<Config> init = {};  ///< the layer's initializer
  float rate = 1;                   ///< factor of the learning rate, from the layer's `lr` and `frozen`
  std::int64_t offset = 0;          ///< in the flat buffer, a multiple of 16
  int uses = 1;                     ///< layers that share it

  const Shape& whole_shape() const { return whole ? *whole : shape; }
  /// What a weight and its bias share, as a module of PyTorch: "attention1.query" of
  /// "attention1.query.weight".
  std::string module() const { return name.substr(0, name.rfind('.')); }
  /// What follows the module: "weight".
  std::string name_in_module() const { return name.substr(name.rfind('.') + 1); }
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
  std::int64_t offset = 0;  ///< set by the plan
};

/// A parameter that the plan has taken.
struct ParameterId {
  int index = -1;
  int use = 0;  ///< 0 for the layer that declared it, then 1, 2 ... for those that share it
  explicit operator bool() const { return index >= 0; }
};

/// Parameters of a product x W + scale x A B of which A and B train.
struct Adapter {
  ParameterId weight, down, up;  ///< W, A, B
  float scale = 0;
};

/// A state that the plan has taken.
struct StateId {
  int index = -1;
};

/// Where in a thread's memory a buffer lies.
enum class Region {
  saved,       ///< from forward to the end of backward
  recomputed,  ///< saved inside one recompute, and shared by all of them
  scratch      ///< during one call
};

/// Memory of one thread: `per_row` elements for each of its rows, or `fixed` elements.
template <class T = float>
struct Buffer {
  std::int64_t offset = -1;  ///< in floats, a multiple of 16
  std::int64_t per_row = 0, fixed = 0;
  Region region = Region::saved;
};

/// An activation that layers compute as float and the network keeps as bfloat16 between its uses.
struct StoredActivation {
  Buffer<> values;  ///< scratch memory
  Buffer<Bfloat16> stored;
};

}  // namespace trainer
