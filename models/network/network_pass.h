#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/core/gradient_sink.h"
#include "engine/core/parameter_source.h"
#include "engine/core/sum_tree.h"
#include "models/layers/pass.h"
#include "models/network/network_plan.h"
#include "models/network/statistics_reducer.h"

namespace trainer {

enum class Mode { training, evaluation };

/// The pass of one thread as its network drives it: adds the gradients of the thread's virtual workers along
/// their tree as soon as they are final.
class NetworkPass final : public Pass {
 public:
  bool layer_sums(ParameterId id) const override;
  GradientTree gradient_tree(ParameterId id) const override;
  void sum_gradient(ParameterId id, std::int64_t first, std::span<const float> of_workers) override;
  void all_reduce(std::span<const double> lines, std::span<double> total) override {
    reducer_->sum(worker_, lines, total);
  }
  void acquire(ParameterId id, std::int64_t end) override;

 private:
  friend class Network;
  bool layer_sums(const Parameter& parameter) const;
  std::int64_t within(std::int64_t offset) const {
    return std::clamp(offset, parameters_.first, parameters_.last);
  }
  Pass& of_split_rows() override { return *split_; }
  void begin_layer(std::span<const Range> parameters) override;
  bool has_parts() const override { return source_ && source_->has_parts(); }
  void end_layer(std::span<const Range> parameters) override {
    if (source_) source_->release(worker_, parameters);
  }
  void ready_from(std::int64_t offset) override;
  /// Adds the gradients of the parameters in this range of the flat buffer.
  void sum_gradients(std::int64_t first, std::int64_t last);
  /// Gives memory to paged gradients.
  void commit_gradients(const Range& range);
  std::span<float> part_of(float* gradients, const Range& range) const {
    return {gradients + (range.first - first_float_), static_cast<std::size_t>(range.count())};
  }
  bool is_root(const float* gradients) const { return std::ranges::count(roots_, gradients) > 0; }

  const NetworkPlan* network_plan_ = nullptr;
  Range parameters_;              ///< of the flat buffer, those of this pass
  NetworkPass* split_ = nullptr;  ///< of layers that split rows
  StatisticsReducer* reducer_ = nullptr;
  SumTree tree_{1, {}};               ///< over the virtual workers
  std::vector<const float*> inputs_;  ///< of the tree
  std::vector<float*> roots_;         ///< the flat gradients that get the roots of the tree
  bool is_paged_ = false;             ///< gradients are memory of reserved_memory()
  bool is_backward_ = false;
  int kept_ = -1;                      ///< the virtual worker whose own gradient is kept
  ParameterSource* source_ = nullptr;  ///< of this pass; null: all parameters are here
  GradientSink* sink_ = nullptr;       ///< of this backward; null: none
};

}  // namespace trainer
