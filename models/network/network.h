#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "engine/core/arena.h"
#include "engine/core/flat_values.h"
#include "engine/core/virtual_workers.h"
#include "engine/parallel/compression.h"
#include "engine/parallel/memory_block.h"
#include "models/layers/sequence.h"
#include "models/network/network_pass.h"
#include "models/network/network_plan.h"

namespace trainer {

/// The layers of a model with the memory of their workers. Parameters and the gradients that are reduced
/// belong to the caller of attach().
class Network {
 public:
  struct Options {
    std::int64_t batch = 1;               ///< the most rows of a global batch
    VirtualWorkers virtual_workers = {};  ///< its threads are the workers here
    int rank = 0;                         ///< of virtual_workers.ranks
    /// Those of layers that split rows, over the ranks of all model groups; and the rank among these.
    std::optional<VirtualWorkers> split_workers = {};
    int split_rank = 0;
    std::uint64_t seed = 1;
    Compression compression = {};  ///< with feedback: parameters have states of it
    /// Of a whole sequence, if each row is one of its positions: the rows of one forward() after the other
    /// resume the sequence (Rows::first_position), with one worker and in evaluation. The first extent of the
    /// sample is 1. 0: a row is a whole sample.
    std::int64_t positions = 0;
    bool is_packed = false;                       ///< rows hold several documents: Rows::position_ids
    bool stores_bfloat16 = false;                 ///< activations, from forward to backward
    std::function<void(Sequence&)> rewrite = {};  ///< changes the layers before setup (model parallelism)
  };
  /// `layers`: the configs of model.layers; `sample`: one input. Error(usage) when a layer does not fit.
  Network(const std::vector<Config>& layers, const Shape& sample, const Options& options);

  const NetworkPlan& plan() const { return plan_; }
  const Sequence& layers() const { return layers_; }
  /// To wrap a layer, between steps.
  Sequence& layers() { return layers_; }
  const Shape& input() const { return input_; }
  /// The virtual workers that a worker computes.
  Range virtual_workers_of(int worker) const { return virtual_workers_.of_worker(rank_, worker); }
  /// The rows of a batch that a worker computes.
  Range rows_of(int worker, std::int64_t batch_rows) const {
    return virtual_workers_.rows(virtual_workers_of(worker), batch_rows);
  }
  const VirtualWorkers& virtual_workers() const { return virtual_workers_; }
  /// Those of layers that split rows.
  const VirtualWorkers& split_workers() const { return split_workers_; }
  /// Whether the first layers compute a share of the rows, and an exchange gathers all of them.
  bool splits_rows() const { return splits_rows_; }
  /// The rows of a batch that a worker's first layers compute: those of input(). Of the whole rank.
  Range input_rows_of(int worker, std::int64_t batch_rows) const;
  Range input_rows(std::int64_t batch_rows) const;
  /// Where the parameters of the layers that split rows end in the flat buffer.
  std::int64_t split_parameter_end() const;
  /// Computes the virtual workers of another rank from the next pass on. Only if each rank has one.
  void compute_as_rank(int rank) { rank_ = rank; }
  const Shape& output() const { return output_; }
  /// Allocated by the first call, so that `summary` needs no memory for them; after attach() threads may
  /// call.
  std::span<float> states();
  /// Bytes that one worker needs for activations and scratch.
  std::int64_t worker_bytes() const;
  /// Bytes of the gradients of virtual workers whose sums are added; `are_paged`: a layer at a time.
  std::int64_t virtual_worker_bytes(bool are_paged) const;

  /// This rank's gradients (none: evaluation only), and the all-reduce of statistics. A worker has a gradient
  /// for each root of the SumTree over its virtual workers.
  struct Sums {
    std::vector<std::span<float>> gradients;
    StatisticsReducer& statistics;
    bool are_paged = false;  ///< the gradients have memory while they are computed (ParameterWindow)
  };
  /// The memory of all parameters. `split`: of layers that split rows; their gradients are as long as their
  /// parameters, the others as the remaining ones. It may be null if none does.
  void attach(const FlatValues<const float>& values, const Sums& sums, const Sums* split = nullptr);

  /// From now on passes acquire parameters of `source`, where they get none; null: all of them are here.
  void read_from(ParameterSource* source) { source_ = source; }

  /// Keeps the gradient of one virtual worker of this rank from the next backward on; -1: of none.
  void keep_gradient_of(int virtual_worker);
  /// That gradient, valid after backward until the attached gradients are written to.
  std::span<const float> kept_gradient() const;

  /// A worker's rows of one batch: those of its virtual workers.
  struct Rows {
    Mode mode = Mode::training;
    std::int64_t step = 0;
    std::span<const std::int64_t> samples;
    std::int64_t batch_rows = 0;                 ///< of the global batch
    std::int64_t mean_rows = 0;                  ///< of all micro-batches; 0: batch_rows
    std::span<const std::int32_t> lengths = {};  ///< of sequences; empty: no row has padding
    std::int64_t first_position = 0;             ///< of the first row, where rows are positions
    /// Of packed rows, (rows, positions): the position of each element in its document. Else empty.
    std::span<const std::int32_t> position_ids = {};
    /// Of input_rows_of(), if the network splits rows.
    std::span<const std::int64_t> input_samples = {};
    std::span<const std::int32_t> input_lengths = {};
    std::span<const std::int32_t> input_position_ids = {};
  };
  /// The input of `rows` rows, those of input_rows_of(), to be filled before forward().
  Tensor input(int worker, std::int64_t rows);
  /// The outputs, valid until the worker's next forward(). Workers call it at the same time. It, and
  /// backward(), acquire the parameters of each layer of `source`; null: that of read_from().
  ConstTensor forward(int worker, const Rows& rows, ParameterSource* source = nullptr);
  /// The gradient of the loss with respect to the output, to be filled between forward() and backward().
  Tensor output_gradient(int worker);
  /// After forward() in training: fills the worker's gradients, and reports them to `sink` (may be null) as
  /// they become final.
  void backward(int worker, GradientSink* sink);

 private:
  struct Worker {
    Arena memory;
    /// Of virtual workers whose sums are added here. Untouched pages take no memory.
    std::vector<std::unique_ptr<SharedMemory>> gradients;
    std::vector<std::unique_ptr<CountedPages>> counted;
    NetworkPass pass, split;
    Tensor x, y, dy;
  };

  void begin_pass(NetworkPass& pass, int worker, const VirtualWorkers& all, int rank, const Options& options);
  void attach(NetworkPass& pass, Worker& worker, const FlatValues<const float>& values,
              StatisticsReducer& statistics);
  void attach_gradients(NetworkPass& pass, Worker& worker, std::span<const std::span<float>> roots) const;
  void attach_gradients(NetworkPass Worker::*pass, const Sums& sums);
  /// Virtual workers whose gradients are no roots.
  static std::int64_t summed_gradients(const NetworkPass& pass);
  /// Of the gradient of one of them the pages that are written: those of parameters that no layer sums.
  std::int64_t pages_of_virtual_worker(const NetworkPass& pass, bool are_paged) const;
  static void set_rows(NetworkPass& pass, const VirtualWorkers& all, Range mine, const Rows& rows);

  VirtualWorkers virtual_workers_, split_workers_;
  int rank_, split_rank_;
  NetworkPlan plan_;
  Sequence layers_;
  bool splits_rows_ = false;
  Shape input_, output_;
  Arena states_;
  Buffer<> x_, y_, dy_;
  std::vector<Worker> workers_;
  const VirtualWorker* kept_ = nullptr;
  ParameterSource* source_ = nullptr;
};

}  // namespace trainer
