#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "engine/core/gradient_sink.h"
#include "engine/core/random.h"
#include "engine/core/sum_tree.h"
#include "engine/core/tensor.h"
#include "models/network/plan.h"

namespace trainer {

enum class Mode { training, evaluation };

/// Rows of a worker whose gradients are kept by themselves; a worker has one such block, in exact mode any
/// number. Layers that reduce over rows (gradients of weights) or whose bits depend on the number of rows go
/// block by block; all others take all rows at once.
struct Block {
  std::int64_t first = 0, count = 0;
  float* gradients = nullptr;  ///< the flat gradient this block writes; null where only evaluated
};

/// Sums over the whole global batch, whichever workers and ranks hold it. Collective over all workers: each
/// has a line as long as `total` for each of its blocks, and all get the sum of all lines.
class StatisticsReducer {
 public:
  virtual ~StatisticsReducer() = default;
  virtual void sum(int worker, std::span<const double> lines, std::span<double> total) = 0;
};

/// Of a sequence with `length` positions of its own before padding, how many layers have left of them that
/// made `whole` of `positions` in all: as large a share, rounded up.
inline std::int64_t scaled_length(std::int64_t length, std::int64_t positions, std::int64_t whole) {
  return whole == positions ? length : (length * whole + positions - 1) / positions;
}

/// All that a layer may know of the moment: one for each worker, valid during one forward or backward.
class Pass {
 public:
  bool training() const { return mode_ == Mode::training; }
  std::int64_t rows() const { return static_cast<std::int64_t>(samples_.size()); }
  /// Which sample each row is: random masks are keyed by it, never by position or rank.
  std::span<const std::int64_t> samples() const { return samples_; }
  /// Of rows that are sequences of `whole` positions, how many are their own; what follows is padding.
  /// `whole` where all are.
  std::int64_t length(std::int64_t row, std::int64_t whole) const {
    return lengths_.empty() ? whole
                            : scaled_length(lengths_[static_cast<std::size_t>(row)], positions_, whole);
  }
  /// Whether any row may have padding.
  bool has_lengths() const { return !lengths_.empty(); }
  /// Where its rows begin in the global batch.
  std::int64_t first_row() const { return first_row_; }
  /// Rows of the global batch.
  std::int64_t batch_rows() const { return batch_rows_; }
  /// Rows over which gradients are to be a mean, for a layer that finds its own without dy: of all parts of a
  /// batch that is computed in parts.
  std::int64_t mean_rows() const { return mean_rows_; }
  std::span<const Block> blocks() const { return blocks_; }
  /// 0 for exactly one worker of a rank, which writes what all workers share (running statistics).
  int worker() const { return worker_; }

  ConstTensor value(ParameterId id) const;
  /// Where the block's gradient goes: to be overwritten, or added to where adds_gradient().
  Tensor gradient(ParameterId id, const Block& block) const;
  /// Whether a layer that shares the parameter, and came before in backward, has written its part of the
  /// gradient.
  bool adds_gradient(ParameterId id) const { return id.use + 1 < plan_->parameter(id).uses; }
  /// Whether the layer gives this gradient to sum_over_blocks(), instead of writing gradient() of each block.
  /// For layers whose parameter says Parameter::summed_by_layer.
  bool layer_sums(ParameterId id) const;
  /// The numbers from `first` on of that gradient: those of every block, one after the other.
  void sum_over_blocks(ParameterId id, std::int64_t first, std::span<const float> of_blocks);
  std::span<float> state(StateId id) const;
  /// The memory as (rows, per_row), or (fixed) when it was booked without per_row.
  Tensor buffer(BufferId id) const;
  /// Numbers for layer `name` at this step; index them by sample.
  RandomStream random(const std::string& layer_name) const {
    return RandomStream(seed_, layer_name, static_cast<std::uint64_t>(step_));
  }
  /// Adds over all blocks of the global batch; every worker calls it, also one without blocks. `lines`: for
  /// each of blocks(), in order, as many numbers as `total` has.
  void batch_sum(std::span<const double> lines, std::span<double> total) { sum_->sum(worker_, lines, total); }

  /// For sequences: the gradients of all parameters from this offset of the flat buffer on are final.
  void ready_from(std::int64_t offset);

 private:
  friend class Network;
  /// Adds what the blocks have for the parameters in this range of the flat buffer.
  void sum_gradients(std::int64_t first, std::int64_t last);

  Mode mode_ = Mode::training;
  std::int64_t step_ = 0;
  std::uint64_t seed_ = 1;
  int worker_ = 0;
  std::span<const std::int64_t> samples_;
  std::span<const std::int32_t> lengths_;
  std::int64_t positions_ = 0;  ///< of a sample that is a sequence
  std::int64_t first_row_ = 0, batch_rows_ = 0, mean_rows_ = 0;
  std::vector<Block> blocks_;
  SumTree tree_{1, {}};               ///< over the blocks
  std::vector<const float*> inputs_;  ///< of the tree
  std::vector<float*> roots_;         ///< the flat gradients that get what the tree leaves
  int kept_block_ = -1;               ///< whose gradient is wanted by itself
  const Plan* plan_ = nullptr;
  const float* values_ = nullptr;
  float* states_ = nullptr;
  float* memory_ = nullptr;
  StatisticsReducer* sum_ = nullptr;
  GradientSink* sink_ = nullptr;  ///< of this backward; null: none
};

}  // namespace trainer
