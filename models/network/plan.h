#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/config/config.h"
#include "engine/core/shape.h"
#include "models/layers/parameter.h"

namespace trainer {

/// What setup() talks to: takes declarations of parameters, state and memory, so that all is allocated once,
/// before the first step.
class Plan {
 public:
  /// The most rows and blocks that a worker ever holds, and the most rows of a global batch.
  explicit Plan(std::int64_t max_rows, int max_blocks = 1, std::int64_t batch = 1)
      : max_rows_(max_rows), max_blocks_(max_blocks), batch_(batch) {}

  // For layers. Error(usage) when a model wants more than any machine has; sums of sizes then never overflow.
  ParameterId parameter(Parameter parameter);
  /// The parameter of a layer that was set up before, to be shared: it lies where it was declared, and its
  /// gradient is the sum of all uses (Pass::adds_gradient). Null when there is none, "tokens.weight", or only
  /// a shard of it.
  std::optional<ParameterId> share(const std::string& full_name);
  const Parameter& parameter(ParameterId id) const { return parameters_[static_cast<std::size_t>(id.index)]; }
  StateId state(State state);
  /// Lives from forward to the end of backward.
  BufferId saved(std::int64_t per_row, std::int64_t fixed = 0);
  /// Lives during one call of forward or backward, also while layers inside are called.
  BufferId scratch(std::int64_t per_row, std::int64_t fixed = 0);
  /// The floating-point operations of a sum of as many products as the extents say: two for each.
  static std::int64_t flops(const Shape& products);
  /// Which of x and y backward reads; both unless said. Lets a sequence reuse memory.
  void backward_reads(bool x, bool y) { layer_.traits.reads_x = x, layer_.traits.reads_y = y; }
  /// Forward works with y == x and backward with dx == dy.
  void works_in_place() { layer_.traits.in_place = true; }
  /// y is x under another shape: there is nothing to compute.
  void is_view() { layer_.traits.view = true; }
  /// The declared name of the layer being set up, "conv1": the key of its random numbers.
  const std::string& layer_name() const { return layer_.name; }
  std::int64_t max_rows() const { return max_rows_; }
  int max_blocks() const { return max_blocks_; }
  std::int64_t batch() const { return batch_; }
  /// The layer wants each row of a batch to go on where it ended in the batch before.
  void requires_streams() { requires_streams_ = true; }

  // For those that hold layers. Set up what runs first in forward first, and run backward in the opposite
  // order.
  struct Traits {
    bool reads_x = true, reads_y = true, in_place = false, view = false;
  };
  struct Current {
    std::string name;
    std::optional<Config> init;
    float rate = 1;  ///< of learning
    Traits traits;
  };
  /// Starts the next layer: its name is `declared`, or `type` with a number. Error(usage) when a declared
  /// name is taken. `config` is null for layers that no file names.
  void begin_layer(const Config* config, const std::string& type, const std::string& declared);
  const Current& current() const { return layer_; }
  /// The learning rate of layers that have none of their own: of those inside a layer, that layer's. Gives
  /// the one before.
  float set_common_rate(float rate) { return std::exchange(common_rate_, rate); }
  /// Goes back to the layer that holds those just set up.
  void resume(const Current& layer) { layer_ = layer; }
  /// Where the next scratch begins; going back lets layers that never run together share it.
  std::int64_t scratch_position() const { return scratch_position_; }
  void set_scratch_position(std::int64_t position);

  bool streams_wanted() const { return requires_streams_; }
  const std::vector<Parameter>& parameters() const { return parameters_; }
  std::int64_t parameter_end() const { return parameter_end_; }
  /// Where each parameter begins in the flat buffer, and at the end that buffer's size.
  std::vector<std::int64_t> parameter_borders() const;
  const std::vector<State>& states() const { return states_; }
  std::int64_t state_end() const { return state_end_; }
  /// Floats of memory one worker needs: saved ones, and behind them scratch.
  std::int64_t saved_end() const { return saved_end_; }
  std::int64_t scratch_end() const { return scratch_end_; }

 private:
  /// `end` moved by `floats`, and on to the next cache line.
  std::int64_t after(std::int64_t end, std::int64_t floats) const;

  std::int64_t max_rows_;
  int max_blocks_;
  std::int64_t batch_;
  bool requires_streams_ = false;
  std::vector<Parameter> parameters_;
  std::vector<State> states_;
  std::int64_t parameter_end_ = 0, state_end_ = 0, saved_end_ = 0, scratch_position_ = 0, scratch_end_ = 0;
  std::map<std::string, int> counts_;
  std::set<std::string> names_;
  Current layer_;
  float common_rate_ = 1;
};

}  // namespace trainer
