#pragma once

#include <span>
#include <vector>

#include "engine/core/range.h"
#include "engine/core/thread_pool.h"
#include "engine/parallel/communicator.h"
#include "models/layers/layer.h"

namespace trainer {

/// The ranks that hold the shards of one model. Each worker of a rank exchanges with the same worker of the
/// others.
class ModelGroup {
 public:
  ModelGroup(ThreadPool& pool, Communicator& ranks);

  int rank() const { return ranks_.rank(); }
  int size() const { return ranks_.size(); }
  /// My part of `width` units.
  Range part(std::int64_t width) const { return part_of(width, rank(), size()); }

  /// Adds `values` over the ranks. Every worker calls.
  void sum(int worker, std::span<float> values);
  /// Joins everybody's columns: mine is (lines, part(width)), whole (lines, width); `scratch` holds
  /// whole.size() floats.
  void join_columns(int worker, std::span<const float> mine, std::span<float> whole, std::int64_t width,
                    std::span<float> scratch);

 private:
  struct Slot {
    std::span<const float> mine;
    std::span<float> all;
    std::int64_t lines = 0;
  };
  template <class Collective>
  void in_turn(int worker, const Slot& slot, Collective collective);

  ThreadPool& pool_;
  Communicator& ranks_;
  std::vector<Slot> slots_;
};

/// What stands between sharded and whole tensors. Forward and backward are adjoint, so an exchange passes the
/// same gradient check as any layer (f and g of Shoeybi et al. 2019, "Megatron-LM", section 3).
enum class ExchangeKind {
  copy,   ///< whole -> whole; gradients are summed: before a layer whose units are cut
  join,   ///< shard of columns -> whole; gradients are cut
  split,  ///< whole -> shard of columns; gradients are joined
  sum     ///< partial sums -> whole; gradients are copied
};
std::unique_ptr<Layer> make_exchange(ExchangeKind kind, ModelGroup& group, std::int64_t width);

}  // namespace trainer
