#pragma once

#include <cstdint>
#include <vector>

#include "engine/parallel/compression.h"
#include "models/layers/plan.h"

namespace trainer {

/// The plan of a whole network: what its layers declared, as the network and the trainer read it.
class NetworkPlan final : public Plan {
 public:
  using Plan::Share;
  /// The most rows and virtual workers of a thread, and the most rows of a global batch.
  explicit NetworkPlan(std::int64_t max_rows, int max_virtual_workers = 1, std::int64_t batch = 1)
      : NetworkPlan(Share{max_rows, max_virtual_workers}, Share{max_rows, max_virtual_workers}, batch) {}
  /// `split`: of a thread in layers that split rows.
  /// `positions`: see Plan::is_stepwise.
  NetworkPlan(const Share& share, const Share& split, std::int64_t batch, std::int64_t positions = 0)
      : Plan(share, split, batch) {
    positions_ = positions;
  }

  /// Before setup: rows may hold several documents.
  void pack() { is_packed_ = true; }
  /// Before setup: activations are stored as bfloat16 from forward to backward.
  void store_bfloat16() { stores_bfloat16_ = true; }
  /// Before setup: freezes layers without `frozen`, `lr` or an adapter.
  void freeze() { layer_.rates.rate = 0; }
  const std::vector<Parameter>& parameters() const { return parameters_; }
  const std::vector<Adapter>& adapters() const { return adapters_; }
  /// The size of the flat buffer of all parameters.
  std::int64_t parameter_end() const { return parameter_end_; }
  /// Where each parameter begins in the flat buffer, then that buffer's size.
  std::vector<std::int64_t> parameter_borders() const;
  /// True for the weights of products (dense, convolution, recurrent), but for those of the output layer: the
  /// last layer with such weights, unless an embedding's weights are used again, as by a tied output. A
  /// matrix (rows, columns) whose columns are the last extent.
  bool is_hidden_matrix(const Parameter& parameter) const;
  /// Declares states of training for parameters that are not sent as float32: with powersgd, for each matrix
  /// that two factors would make smaller, the factor of shape (rank, columns), "conv1.weight.powersgd", where
  /// columns are the last extent; with a momentum of one_bit, that of the sums, "conv1.weight.one_bit".
  void add_feedback_states(const Compression& compression);
  static constexpr const char* kLowRankFactor = ".powersgd";
  static constexpr const char* kSentMomentum = ".one_bit";
  const std::vector<State>& states() const { return states_; }
  std::int64_t state_end() const { return state_end_; }
  /// Floats of memory of a thread: saved memory, then what recomputes share, then scratch memory.
  std::int64_t saved_end() const { return saved_end_; }
  std::int64_t recomputed_end() const { return recomputed_end_; }
  std::int64_t scratch_end() const { return scratch_end_; }
  std::int64_t memory_end() const { return saved_end_ + recomputed_end_ + scratch_end_; }
  std::int64_t max_rows() const { return max_rows_; }
  /// Whether a layer requires that rows resume where they ended in the batch before.
  bool streams_required() const { return requires_streams_; }
  /// Whether a layer has parameters or memory for each position of a sequence, so that no sequence may be
  /// longer than a sample.
  bool limits_positions() const { return limits_positions_; }
  /// What layers require of the batches of training.
  const std::vector<RowRequirement>& row_requirements() const { return row_requirements_; }
};

}  // namespace trainer
