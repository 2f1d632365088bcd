#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "datasets/loading/row_loader.h"
#include "datasets/loading/target_rows.h"
#include "models/training/session.h"

namespace trainer {

class Reviewer;

/// A micro-batch over all data ranks; with `accumulate: 1` it is the whole batch.
struct MicroBatch {
  std::span<const std::int64_t> samples;  ///< of the micro-batch
  std::span<const std::int64_t> batch;    ///< the samples of the update
  std::int64_t first = 0;                 ///< where `samples` begin in `batch`
  std::int64_t number = 0;                ///< counted over all steps, as RowLoader does
  std::int64_t step = 0;                  ///< counted from 0

  bool is_first() const { return first == 0; }
  bool is_last() const { return first + std::ssize(samples) == std::ssize(batch); }
};

/// Sees what workers load in training.
class RowWatch {
 public:
  /// A worker's input rows, and the targets of its rows, which differ if the network splits rows; their
  /// places in the whole batch are those of their samples. Workers call it at the same time.
  struct Rows {
    std::int64_t first_input = 0, first = 0;  ///< in the batch of the update
    std::span<const std::int64_t> input_samples, samples;
    ConstTensor input;
    const Targets& targets;
    std::int64_t labels_per_sample = 1;
  };
  virtual ~RowWatch() = default;
  virtual void on_load(int worker, const Rows& rows) = 0;
};

/// Runs batches through a network and sums loss and metrics. Each worker of each data rank computes the rows
/// of its virtual workers.
class BatchRunner {
 public:
  BatchRunner(Session& session, Network& network);

  /// Sets all sums to zero.
  void clear();

  /// `watch`, which outlives the training, sees its rows from now on.
  void watch(RowWatch& watch) { watches_.push_back(&watch); }

  // A step of training: begin() on the main thread, then the other functions on every worker.
  /// Rows come from `loader`.
  void begin(const MicroBatch& batch, RowLoader& loader);
  /// Reads the worker's rows and targets.
  void load(int worker);
  /// `source` as in Network::forward.
  void forward(int worker, ParameterSource* source = nullptr);
  /// Adds loss and metrics to the sums, and writes the gradient of the mean loss over the whole batch.
  void loss(int worker);
  /// `sink` as in Network::backward.
  void backward(int worker, GradientSink* sink) { network_.backward(worker, sink); }

  /// Forward and loss over samples of a split, on all workers. Called on the main thread. `reviewer`, unless
  /// null, sees the loss of each sample.
  void evaluate(const Dataset& split, std::span<const std::int64_t> samples, Reviewer* reviewer = nullptr);

  /// What a worker's rows of the last batch gave, and what it is compared with.
  ConstTensor outputs_of(int worker) const { return workers_[static_cast<std::size_t>(worker)].y; }
  const Targets& targets_of(int worker) const {
    return workers_[static_cast<std::size_t>(worker)].targets.targets();
  }
  /// The samples whose input a worker loaded last.
  std::span<const std::int64_t> samples_of(int worker) const;
  /// This rank's sums since clear(), to be added over data ranks: loss, then those of each metric. In exact
  /// mode a row for each virtual worker; rows of other ranks are zero.
  std::span<const double> sums();
  /// The length of such a row.
  std::size_t kinds() const { return kinds_; }
  /// The labels of all batches since clear(), and the divisor of their mean loss.
  std::int64_t labels() const { return labels_; }
  double weight() const { return weight_; }
  /// The loss of this rank's rows since clear().
  double own_loss() const;
  /// Loading time since clear(), as a mean over workers.
  std::chrono::nanoseconds data_time() const;
  /// Loss and metrics over all labels since clear(), from sums that were added over data ranks.
  void scores(std::span<const double> sums, std::int64_t samples, Scores& scores);
  /// The sums of the last scores(), as Session::metric_values() reads them.
  std::span<const double> metric_sums() const { return std::span(total_).first(kinds_); }
  /// Moves out this rank's class scores since the last call, for a metric that requires them.
  ClassScores take_scores(std::size_t metric);

 private:
  struct Worker {
    std::span<const std::int64_t> samples;
    std::span<const std::int64_t> input_samples;  ///< other ones if the network splits rows
    TargetRows targets;
    ConstTensor y;
    std::vector<double> sums;           ///< for each of its virtual workers
    std::vector<float> mixed_gradient;  ///< memory for a row, where samples are mixed
    std::vector<float> mean_output;     ///< of all views of an evaluation
    std::vector<float> view_scratch;
    std::vector<float> outputs, values;       ///< in the targets' own units, where targets are scaled
    std::vector<std::int32_t> lengths;        ///< of its rows, where samples are sequences
    std::vector<std::int32_t> input_lengths;  ///< the same of the rows of its input
    std::vector<std::int32_t> positions, input_positions;  ///< in their documents, where rows are packed
    std::vector<std::int32_t> output_lengths;              ///< of its rows after the network, for losses
    std::vector<ClassScores> scores;                       ///< for each metric that requires them
    std::chrono::nanoseconds data_time{};
  };

  Worker& at(int worker) { return workers_[static_cast<std::size_t>(worker)]; }
  /// Takes the worker's rows of a batch of `samples`.
  void take_rows(int worker, std::span<const std::int64_t> samples);
  /// The mean output over the views of the worker's rows.
  ConstTensor forward_views(int worker, const Dataset& split, std::int64_t batch_rows);
  void read_lengths(Worker& self, const Dataset& split);
  /// The number of labels of a batch, without those of padding.
  std::int64_t labels_of(const Dataset& split, std::span<const std::int64_t> samples) const;
  /// The divisor of the mean loss: the number of labels, or the sum of their samples' and class weights. Of
  /// an epoch of training, which may mix samples, or of an evaluation.
  double weight_of(const Dataset& split, std::span<const std::int64_t> samples,
                   std::optional<std::int64_t> epoch);
  /// Adds the metrics of these rows to `sums`; with targets that are scaled in their own units.
  void add_metrics(Worker& self, ConstTensor rows, const Targets& targets, bool evaluates,
                   std::span<double> sums);
  /// Adds loss and metrics of the worker's rows to its sums; writes the gradient unless its scale is 0.
  void score(int worker, std::int64_t batch_rows, float gradient_scale);
  void review(int worker, Reviewer& reviewer);

  Session& session_;
  Network& network_;
  std::size_t kinds_ = 1;              ///< of sums
  std::int64_t output_positions_ = 0;  ///< of sequences; 0 where the model gives none
  std::vector<Worker> workers_;
  std::vector<double> total_;
  TargetRows whole_batch_;   ///< where the weight of a label depends on its class
  std::int64_t labels_ = 0;  ///< of all batches since clear()
  double weight_ = 0;        ///< of these labels
  MicroBatch batch_;         ///< of training
  RowLoader* loader_ = nullptr;
  std::vector<RowWatch*> watches_;
  double batch_weight_ = 0;  ///< of the labels of the whole batch
};

}  // namespace trainer
