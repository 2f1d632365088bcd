#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/core/range.h"
#include "models/layers/parameter.h"

namespace trainer {

/// The interface of a layer to its network in setup(): the layer declares parameters, states and memory, so
/// that all memory is allocated before the first step. Error(usage) if a model needs more than any machine
/// has, so that sums of sizes never overflow.
class Plan {
 public:
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  ParameterId parameter(Parameter parameter);
  /// A parameter of an earlier layer, "tokens.weight", to be shared: its gradient is the sum over all uses
  /// (Pass::adds_gradient). Null when there is none.
  std::optional<ParameterId> share(const std::string& full_name);
  const Parameter& parameter(ParameterId id) const { return parameters_[static_cast<std::size_t>(id.index)]; }
  /// Records parameters that form an adapter, so that exports merge them.
  void adapter(const Adapter& adapter) { adapters_.push_back(adapter); }
  /// Whether an earlier layer has parameters, so that backward may ask this one for dx.
  bool has_parameters() const { return !parameters_.empty(); }
  StateId state(State state);
  const State& state(StateId id) const { return states_[static_cast<std::size_t>(id.index)]; }

  /// Memory from forward to the end of backward. Inside a recompute forward runs again before backward, and
  /// fills the memory again.
  template <class T = float>
  Buffer<T> saved(std::int64_t per_row, std::int64_t fixed = 0) {
    return book<T>(recomputes_ ? Region::recomputed : Region::saved, per_row, fixed);
  }
  /// Saved memory of an activation, whose precision of bfloat16 is enough in backward: half as much where the
  /// network stores them so (Network::Options::stores_bfloat16).
  Buffer<> activation(std::int64_t per_row);
  /// Whether activations outside of recomputes are stored as bfloat16.
  bool stores_bfloat16() const { return stores_bfloat16_ && !recomputes_; }
  /// Saved memory that a second forward (Pass::recomputes) finds as the first one left it.
  template <class T = float>
  Buffer<T> saved_once(std::int64_t per_row, std::int64_t fixed = 0) {
    return book<T>(Region::saved, per_row, fixed);
  }
  /// Memory during one call of forward or backward, also while layers inside are called.
  template <class T = float>
  Buffer<T> scratch(std::int64_t per_row, std::int64_t fixed = 0) {
    return book<T>(Region::scratch, per_row, fixed);
  }

  /// Floating-point operations of a sum of products: two for each element of the shape.
  static std::int64_t flops(const Shape& products);
  /// Which of x and y backward reads; both unless declared. Lets a sequence reuse memory.
  void backward_reads(bool x, bool y) { layer_.traits.reads_x = x, layer_.traits.reads_y = y; }
  /// Forward works with y == x and backward with dx == dy.
  void works_in_place() { layer_.traits.in_place = true; }
  /// y is x under another shape: there is nothing to compute.
  void is_view() { layer_.traits.view = true; }
  /// Forward calls Pass::acquire() before it reads a parameter.
  void acquires_parts() { layer_.traits.acquires_parts = true; }
  /// The name of the layer being set up, "conv1": the key of its random numbers.
  const std::string& layer_name() const { return layer_.name; }

  /// Whether the layer being set up is inside a recompute.
  bool recomputes() const { return recomputes_; }
  /// Whether each row is one position of a sequence, and consecutive rows are consecutive positions
  /// (Network::Options::positions). The sample's first extent is 1 then. Only forward in evaluation runs.
  bool is_stepwise() const { return positions_ > 0; }
  /// The positions of a whole sequence, for a layer that has parameters or memory for each of them. `extent`:
  /// the sample's first one.
  std::int64_t positions(std::int64_t extent) {
    limits_positions_ = true;
    return is_stepwise() ? positions_ : extent;
  }
  /// Whether rows may hold several documents (Network::Options::is_packed).
  bool is_packed() const { return is_packed_; }
  /// Memory that stays from one pass of a stepwise network to the next.
  Buffer<> carried(std::int64_t size) { return book<float>(Region::saved, 0, size); }
  /// The most virtual workers of a thread.
  int max_virtual_workers() const { return max_virtual_workers_; }
  /// The most rows of a global batch.
  std::int64_t batch() const { return batch_; }
  /// The layer requires that each row of a batch resumes where it ended in the batch before.
  void requires_streams() { requires_streams_ = true; }
  /// The layer requires at least `rows` rows in each batch of training; the error otherwise points at
  /// `config`.
  void requires_rows(std::int64_t rows, const Config& config, std::string reason) {
    row_requirements_.push_back({rows, config, layer_.name, std::move(reason)});
  }

  struct RowRequirement {
    std::int64_t rows = 0;
    Config config;
    std::string layer, reason;
  };

 protected:
  friend class NestedPlan;
  friend class RecomputedPlan;
  friend class SplitRowsPlan;

  struct Traits {
    bool reads_x = true, reads_y = true, in_place = false, view = false, acquires_parts = false;
  };
  /// The layer being set up.
  struct Rates {
    float rate = 1;                   ///< factor of the learning rate
    bool has_frozen_weights = false;  ///< only biases learn
  };
  struct Current {
    std::string name;
    std::optional<Config> init;
    Rates rates = {};
    float adapter_rate = 1;          ///< `rates.rate` for an adapter
    std::vector<Range> shared = {};  ///< parameters of earlier layers
    std::vector<StoredActivation> activations = {};
    Traits traits;
  };

  /// What a thread computes.
  struct Share {
    std::int64_t max_rows = 1;
    int max_virtual_workers = 1;
  };
  Plan(const Share& share, const Share& split, std::int64_t batch)
      : max_rows_(share.max_rows),
        max_virtual_workers_(share.max_virtual_workers),
        split_(split),
        batch_(batch) {}

  void set_scratch_position(std::int64_t position);
  /// The floats that take as much memory as `count` times `size` elements.
  template <class T>
  static std::int64_t floats(std::int64_t count, std::int64_t size) {
    constexpr auto kFloat = static_cast<std::int64_t>(sizeof(float));
    const std::int64_t bytes = Shape{count, size, static_cast<std::int64_t>(sizeof(T))}.size();
    return bytes / kFloat + (bytes % kFloat > 0 ? 1 : 0);
  }
  /// `end` moved by `floats`, and on to the next cache line.
  std::int64_t after(std::int64_t end, std::int64_t floats) const;
  template <class T>
  Buffer<T> book(Region region, std::int64_t per_row, std::int64_t fixed) {
    return {take(region, floats<T>(max_rows_, per_row), floats<T>(1, fixed)), per_row, fixed, region};
  }
  /// The offset of so many floats in a region.
  std::int64_t take(Region region, std::int64_t rows, std::int64_t fixed);

  std::int64_t max_rows_;
  int max_virtual_workers_;
  Share split_;  ///< in layers that compute a share of the rows
  std::int64_t batch_;
  bool requires_streams_ = false;
  std::int64_t positions_ = 0;  ///< of a sequence whose positions are rows; 0: a row is a whole sample
  bool limits_positions_ = false;
  bool is_packed_ = false, stores_bfloat16_ = false;
  std::vector<RowRequirement> row_requirements_;
  std::vector<Parameter> parameters_;
  std::vector<Adapter> adapters_;
  std::vector<State> states_;
  std::int64_t parameter_end_ = 0, state_end_ = 0, saved_end_ = 0, scratch_position_ = 0, scratch_end_ = 0;
  std::int64_t recomputed_position_ = 0, recomputed_end_ = 0;
  bool recomputes_ = false;
  std::map<std::string, int> counts_;
  std::map<std::string, Rates> rates_;  ///< of each layer, by its name
  Current layer_;
  Rates common_rates_ = {};  ///< of layers that have none of their own
};

}  // namespace trainer
