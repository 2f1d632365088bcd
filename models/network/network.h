#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "engine/core/arena.h"
#include "engine/core/virtual_workers.h"
#include "engine/parallel/memory_block.h"
#include "models/layers/sequence.h"
#include "models/network/network_pass.h"
#include "models/network/network_plan.h"

namespace trainer {

/// The layers of a model with the memory of their workers. Works on parameters and gradients that it is
/// handed.
class Network {
 public:
  struct Options {
    std::int64_t batch = 1;      ///< the most rows of a global batch
    VirtualWorkers blocks = {};  ///< its threads are the workers here
    int rank = 0;                ///< among those of `blocks`
    std::uint64_t seed = 1;
    std::function<void(Sequence&)> rewrite = {};  ///< changes the layers before setup (model parallelism)
  };
  /// `layers`: the configs of model.layers; `sample`: one input. Error(usage) when a layer does not fit.
  Network(const std::vector<Config>& layers, const Shape& sample, const Options& options);

  const NetworkPlan& plan() const { return plan_; }
  const Sequence& layers() const { return layers_; }
  /// To put something around a layer, between steps.
  Sequence& layers() { return layers_; }
  const Shape& input() const { return input_; }
  /// What a worker computes.
  Range blocks_of(int worker) const { return blocks_.of_worker(rank_, worker); }
  /// From now on another rank's part, where each has one block. Not within a pass.
  void set_rank(int rank) { rank_ = rank; }
  const Shape& output() const { return output_; }
  /// Takes their memory at first, so that a network that is only looked at needs none.
  std::span<float> states();
  /// Bytes that one worker needs for activations and scratch.
  std::int64_t worker_bytes() const;
  /// Bytes of all workers' gradients, also of blocks.
  std::int64_t gradient_bytes() const;

  /// Where parameters are read, the gradients of this rank's workers are written (empty: evaluation only),
  /// and batches are summed. A worker has a gradient for each root of the SumTree over its blocks.
  void attach(std::span<const float> values, std::vector<std::span<float>> gradients, StatisticsReducer& sum);

  /// From the next backward on gradient_of_block() is expected of this block of the rank; of none: -1.
  void keep_block(int block);
  /// That block's own gradient, after backward and until what was handed to attach() is written to.
  std::span<const float> gradient_of_block() const;

  /// A worker's rows of one batch: those of its blocks.
  struct Rows {
    Mode mode = Mode::training;
    std::int64_t step = 0;
    std::span<const std::int64_t> samples;
    std::int64_t batch_rows = 0;                 ///< of the global batch
    std::int64_t mean_rows = 0;                  ///< of all its parts, where it is one of several; else 0
    std::span<const std::int32_t> lengths = {};  ///< of sequences, where rows may have padding
  };
  /// Where the input of `rows` goes before forward().
  Tensor input(int worker, std::int64_t rows);
  /// Gives the outputs; several workers call at once. They stay until the worker's next forward().
  ConstTensor forward(int worker, const Rows& rows);
  /// Where the loss writes its gradient between forward() and backward().
  Tensor output_gradient(int worker);
  /// After forward() in training: fills the worker's gradients, and reports to `sink` as they become final;
  /// null: to nobody.
  void backward(int worker, GradientSink* sink);

 private:
  struct Worker {
    Arena memory;
    /// Of blocks that are added here. Large pages that nobody writes to cost nothing.
    std::vector<std::unique_ptr<SharedMemory>> block_gradients;
    NetworkPass pass;
    Tensor x, y, dy;
  };

  void attach_gradients(Worker& worker, std::span<const std::span<float>> roots) const;

  VirtualWorkers blocks_;
  int rank_;
  NetworkPlan plan_;
  Sequence layers_;
  Shape input_, output_;
  Arena states_;
  Buffer<> x_, y_, dy_;
  std::vector<Worker> workers_;
  const VirtualWorker* kept_ = nullptr;
};

}  // namespace trainer
