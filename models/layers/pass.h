#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/core/random.h"
#include "engine/core/range.h"
#include "engine/core/sum_tree.h"
#include "engine/core/tensor.h"
#include "models/layers/plan.h"

namespace trainer {

/// The rows of a virtual worker among those of its thread, [first, first + count), and the flat gradient that
/// it writes. A layer that reduces over rows (gradients of weights), or whose bits depend on the number of
/// rows, computes each virtual worker by itself; any other layer takes all rows at once. Outside exact mode a
/// thread has one virtual worker.
struct VirtualWorker {
  std::int64_t first = 0, count = 0;
  float* gradients = nullptr;  ///< null in evaluation
};

/// The interface of a layer to its network in forward and backward: one for each thread, valid during one
/// call.
class Pass {
 public:
  virtual ~Pass() = default;

  bool training() const { return training_; }
  /// Whether this is the second forward of a recompute. Then a layer calls no all_reduce and changes no
  /// state: it reads from Plan::saved_once what the first forward found.
  bool recomputes() const { return recomputes_; }
  std::int64_t rows() const { return static_cast<std::int64_t>(samples_.size()); }
  /// The sample of each row: the key of random masks, which then depend on no placement.
  std::span<const std::int64_t> samples() const { return samples_; }
  /// The positions of a row that are its own, of `whole` positions after the layers so far; the others are
  /// padding. A layer that halves the positions halves the length, rounded up.
  std::int64_t length(std::int64_t row, std::int64_t whole) const;
  /// The position, in its sequence, of position t of a row.
  std::int64_t position(std::int64_t row, std::int64_t t) const {
    if (plan_->is_stepwise()) return first_position_ + row;
    return is_packed() ? position_ids_[static_cast<std::size_t>(row * positions_ + t)] : t;
  }
  /// Whether rows hold several documents, each with positions of its own from 0 on.
  bool is_packed() const { return !position_ids_.empty(); }
  /// visit(first position in the row, length) for each document of a row of `whole` positions, without its
  /// padding.
  template <class Visit>
  void for_each_document(std::int64_t row, std::int64_t whole, Visit visit) const {
    const std::int64_t end = length(row, whole);
    for (std::int64_t first = 0, last = 1; first < end; first = last, last = first + 1) {
      while (last < end && position(row, last) > 0) ++last;
      visit(first, last - first);
    }
  }
  /// Whether any row may have padding.
  bool has_lengths() const { return !lengths_.empty(); }
  /// Where the thread's rows begin in the global batch.
  std::int64_t first_row() const { return first_row_; }
  /// Rows of the global batch.
  std::int64_t batch_rows() const { return batch_rows_; }
  /// The rows over which gradients are a mean: those of all micro-batches. For a layer that derives gradients
  /// from no dy.
  std::int64_t mean_rows() const { return mean_rows_; }
  std::span<const VirtualWorker> virtual_workers() const { return virtual_workers_; }
  /// The thread; thread 0 writes what all share (running statistics).
  int worker() const { return worker_; }

  ConstTensor value(ParameterId id) const;
  /// Where a virtual worker's gradient goes: overwritten, or added to where adds_gradient().
  Tensor gradient(ParameterId id, const VirtualWorker& worker) const;
  /// Whether another layer that shares the parameter has written its part of the gradient in this backward.
  bool adds_gradient(ParameterId id) const { return id.use + 1 < plan_->parameter(id).uses; }
  /// Whether the layer passes this gradient to sum_gradient(), instead of writing gradient() of each virtual
  /// worker. Only for parameters with Parameter::summed_by_layer.
  virtual bool layer_sums(ParameterId id) const = 0;
  /// Where sum_gradient() adds this gradient: for a product that adds along the tree itself. No tree where a
  /// virtual worker's own gradient is kept, too.
  struct GradientTree {
    const SumTree* tree = nullptr;
    std::array<float*, SumTree::kMaxRoots> roots{};
  };
  virtual GradientTree gradient_tree(ParameterId id) const = 0;
  /// Adds part of a gradient over the thread's virtual workers: elements from `first` on, those of all
  /// virtual workers one after the other.
  virtual void sum_gradient(ParameterId id, std::int64_t first, std::span<const float> of_workers) = 0;
  std::span<float> state(StateId id) const;
  /// (rows, per_row), or (fixed) when it was booked without per_row.
  Tensor buffer(Buffer<> id) const;
  template <class T>
  std::span<T> buffer(Buffer<T> id) const {
    const std::int64_t size = id.per_row > 0 ? rows() * id.per_row : id.fixed;
    return {reinterpret_cast<T*>(place(id.offset, id.region)), static_cast<std::size_t>(size)};
  }
  /// The random numbers of a layer in this step; index them by sample.
  RandomStream random(const std::string& layer_name) const {
    return RandomStream(seed_, layer_name, static_cast<std::uint64_t>(step_));
  }
  /// All-reduce of statistics: the sum over all virtual workers of the global batch. Every thread calls it,
  /// also one without rows. `lines`: one of total.size() values for each of virtual_workers(), in order.
  virtual void all_reduce(std::span<const double> lines, std::span<double> total) = 0;
  /// For a layer with Plan::acquires_parts(): returns once forward may read the parameter up to element
  /// `end`.
  virtual void acquire(ParameterId id, std::int64_t end) = 0;
  /// Backward has computed the gradient of this parameter from element `first` on, and those of all
  /// parameters of the layer behind it.
  void gradient_is_final(ParameterId id, std::int64_t first);

 protected:
  friend class Sequence;
  /// The pass of layers that compute a share of these rows (Sequence::Entry::splits_rows): its rows, virtual
  /// workers and parameters.
  virtual Pass& of_split_rows() = 0;
  /// Returns once a layer may read these parameters in forward or backward, and write their gradients; until
  /// end_layer().
  virtual void begin_layer(std::span<const Range> parameters) = 0;
  /// True if layers with Plan::acquires_parts() call acquire() in forward instead.
  virtual bool has_parts() const = 0;
  virtual void end_layer(std::span<const Range> parameters) = 0;
  /// The gradients of all parameters from this offset of the flat buffer on are final.
  virtual void ready_from(std::int64_t offset) = 0;
  float* place(std::int64_t offset, Region region) const {
    return regions_[static_cast<std::size_t>(region)] + offset;
  }

  bool training_ = true, recomputes_ = false;
  std::int64_t step_ = 0;
  std::uint64_t seed_ = 1;
  int worker_ = 0;
  std::span<const std::int64_t> samples_;
  std::span<const std::int32_t> lengths_;
  std::span<const std::int32_t> position_ids_;  ///< (rows, positions) where rows are packed; else empty
  std::int64_t positions_ = 0;                  ///< of a sample that is a sequence
  std::int64_t first_position_ = 0;             ///< of row 0, where rows are positions (Plan::is_stepwise)
  std::int64_t first_row_ = 0, batch_rows_ = 0, mean_rows_ = 0;
  std::vector<VirtualWorker> virtual_workers_;
  const Plan* plan_ = nullptr;
  const float* values_ = nullptr;
  std::int64_t first_float_ = 0;  ///< offset in the flat buffer of values_ and of the flat gradients
  float* states_ = nullptr;
  std::array<float*, 3> regions_{};  ///< in the order of Region
};

/// The length of a sequence after layers that turned `positions` positions into `whole`: `length` scaled by
/// the same ratio, rounded up.
inline std::int64_t scaled_length(std::int64_t length, std::int64_t positions, std::int64_t whole) {
  return whole == positions ? length : (length * whole + positions - 1) / positions;
}

}  // namespace trainer
