#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/config/config_tree.h"
#include "engine/core/arena.h"
#include "engine/core/sum_tree.h"
#include "engine/system/thread_pool.h"
#include "models/network/network.h"

namespace trainer {

/// Layers as YAML has them inside a list: "conv: {filters: 4, kernel: 3}, relu".
ConfigTree layer_list(const std::string& yaml);

/// Sums over the virtual workers of a pool, along their tree.
class PoolSum final : public StatisticsReducer {
 public:
  PoolSum(ThreadPool& pool, const VirtualWorkers& virtual_workers)
      : pool_(pool),
        virtual_workers_(virtual_workers),
        lines_(static_cast<std::size_t>(virtual_workers.count)) {}
  void sum(int worker, std::span<const double> lines, std::span<double> total) override;

 private:
  ThreadPool& pool_;
  VirtualWorkers virtual_workers_;
  std::vector<std::vector<double>> lines_;
};

/// Layers built from YAML with their memory and parameters, run forward and backward, also for the gradient
/// of their input. Each worker gets consecutive rows; row i is sample i.
class LayerHarness {
 public:
  struct Options {
    std::int64_t rows = 3;
    int workers = 1;
    int exact_virtual_workers = 0;           ///< 0: one for each worker
    std::vector<std::int32_t> lengths = {};  ///< of rows that are sequences, where some have padding
    bool stores_bfloat16 = false;            ///< activations
    bool input_gradient = true;              ///< false: dx of the input is not computed, as in a network
  };
  /// Parameters begin as random numbers in [-0.5, 0.5).
  LayerHarness(const std::string& yaml, const Shape& sample, const Options& options);

  Network& network() { return *network_; }
  /// Of all layers, in the order of the plan.
  std::span<const float> all_values() { return parameters_.floats(); }
  const NetworkPlan& plan() const { return network_->plan(); }
  /// Of one sample.
  const Shape& input() const { return network_->input(); }
  const Shape& output() const { return network_->output(); }
  std::int64_t rows() const { return rows_; }
  /// The sample of each row; to be changed between calls.
  std::span<std::int64_t> samples() { return samples_; }

  /// Parameters of the layers, without the harness's own.
  std::span<const Parameter> parameters() const {
    return std::span(plan().parameters()).subspan(own_parameters_);
  }
  std::span<float> values(const Parameter& parameter) { return part(parameters_.floats(), parameter); }
  /// See Network.
  void keep_gradient_of(int virtual_worker) { network_->keep_gradient_of(virtual_worker); }
  std::vector<float> kept_gradient(const Parameter& parameter) const;
  /// Summed over virtual workers.
  std::vector<float> gradient(const Parameter& parameter) const;
  std::span<float> values(const State& state);

  /// y for all rows.
  std::vector<float> forward(std::span<const float> x, Mode mode = Mode::training);
  /// dx for all rows.
  std::vector<float> backward(std::span<const float> dy, GradientSink* sink = nullptr);

 private:
  static std::span<float> part(std::span<float> flat, const Parameter& parameter) {
    return flat.subspan(static_cast<std::size_t>(parameter.offset),
                        static_cast<std::size_t>(parameter.shape.size()));
  }
  Range rows_of(int worker) const {
    return virtual_workers_.rows(virtual_workers_.of_worker(0, worker), rows_);
  }

  std::int64_t rows_;
  std::vector<std::int32_t> lengths_;
  std::size_t own_parameters_;
  ThreadPool pool_;
  VirtualWorkers virtual_workers_;
  PoolSum sum_{pool_, virtual_workers_};
  ConfigTree tree_;
  std::vector<float> input_gradient_;
  std::unique_ptr<Network> network_;
  Arena parameters_;
  std::vector<Arena> gradients_;
  SumTree sum_of_workers_{1, {}};
  std::vector<std::int64_t> samples_;
};

}  // namespace trainer
