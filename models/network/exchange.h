#pragma once

#include <span>
#include <vector>

#include "engine/core/range.h"
#include "engine/parallel/communicator.h"
#include "engine/system/thread_pool.h"
#include "models/layers/layer.h"

namespace trainer {

/// The ranks that hold the shards of one model. Each worker of a rank exchanges with the same worker of the
/// others.
class ModelGroup {
 public:
  /// `exact`: shards end at unit_borders() only.
  ModelGroup(ThreadPool& pool, Communicator& ranks, bool exact = false);

  ThreadPool& pool() const { return pool_; }
  Communicator& ranks() const { return ranks_; }
  int rank() const { return ranks_.rank(); }
  int size() const { return ranks_.size(); }
  bool exact() const { return exact_; }
  /// This rank's shard of `width` units, of which `together` each stay on one rank: the features of a head.
  Range part(std::int64_t width, std::int64_t together = 1) const {
    return part_of_rank(width, rank(), together);
  }
  Range part_of_rank(std::int64_t width, int rank, std::int64_t together = 1) const;

  /// Exact mode computes the units of a layer in at most eight tiles, for every number of ranks; of whole
  /// cache lines where each unit stands by itself. Returns where the tiles begin, then the end of the last.
  static constexpr int kMaxUnitTiles = 8;
  static std::vector<std::int64_t> unit_borders(std::int64_t width, std::int64_t together = 1);

  /// Adds `values` over the ranks. Every worker calls.
  void sum(int worker, std::span<float> values);
  /// All-gather: counts[r] * `size` values of rank r, by rank. This rank's values are already in their place.
  void gather(int worker, std::span<float> all, std::span<const std::int64_t> counts, std::int64_t size);
  /// Joins the columns of all ranks: mine is (lines, part(width)), whole (lines, width); `scratch` holds
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
  bool exact_;
  std::vector<Slot> slots_;
};

/// Turns shards into whole tensors and back. Forward and backward are adjoint, so an exchange passes the
/// same gradient check as any layer (f and g of Shoeybi et al. 2019, "Megatron-LM", section 3).
enum class ExchangeKind {
  copy,   ///< whole -> whole; gradients are summed: before a layer that is sharded along outputs
  join,   ///< shard of columns -> whole; gradients are split
  split,  ///< whole -> shard of columns; gradients are joined
  sum     ///< partial sums -> whole; gradients are copied
};
std::unique_ptr<Layer> make_exchange(ExchangeKind kind, ModelGroup& group, std::int64_t width);

/// What a layer exchanges over a model group for one sample, in floats of the whole tensors. Each that is not
/// 0 is one collective call of each worker, or of each rank.
struct ExchangeTraffic {
  std::int64_t gathered_forward = 0, summed_forward = 0, gathered_backward = 0, summed_backward = 0;
  std::int64_t scattered_backward = 0;  ///< reduce-scatter
  bool once_a_rank = false;
};
/// A layer that exchanges; valid after setup.
class Exchanging {
 public:
  virtual ~Exchanging() = default;
  virtual ExchangeTraffic traffic() const = 0;
};

}  // namespace trainer
