#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "datasets/loading/row_loader.h"
#include "datasets/loading/target_rows.h"
#include "models/guards/sample_ledger.h"
#include "models/training/session.h"

namespace trainer {

/// Takes batches through a session's network: each worker of each data rank its blocks of the rows. Keeps
/// sums of loss and metrics. Training and evaluation are the same but for the gradient.
class BatchRunner {
 public:
  explicit BatchRunner(Session& session);

  /// Forward only. All workers of all ranks take part.
  void evaluate(const Dataset& split, std::span<const std::int64_t> samples);
  /// A part of a training step's batch, or all of it.
  struct Part {
    std::span<const std::int64_t> samples, batch;
    std::int64_t number = 0;  ///< counted over all steps, as `rows` does
    std::int64_t step = 0;
  };
  /// Forward, loss over the mean of the global batch, and backward of samples whose rows come from `rows`;
  /// `sink` as in Network::backward.
  void train(RowLoader& rows, const Part& part, GradientSink* sink);
  /// A block of the part that was just trained on once more, by a network that has that block alone. `sums`
  /// becomes what sums() had for it if the part was the first.
  void recompute(Network& network, RowLoader& rows, const Part& part, std::span<double> sums);
  /// Of a global batch of so many rows, those of this process.
  Range own_rows(std::int64_t batch_rows) const;

  /// This rank's sums since clear(): loss, then each metric's; to be added over data ranks. In exact mode one
  /// after the other for each block of the batch, zeros for other ranks' blocks.
  std::span<const double> sums();
  /// How many of them a block has.
  std::size_t kinds() const { return kinds_; }
  /// The loss of this rank's rows since clear().
  double own_loss() const;
  /// Time since clear() in which workers fetched samples to train on, in the mean over this rank's.
  std::chrono::nanoseconds data_time() const;
  void clear();
  /// Of the samples that were trained on.
  SampleLedger& ledger() { return ledger_; }
  /// Means over all labels since clear(), from sums that were added over data ranks.
  void scores(std::span<const double> sums, std::int64_t samples, Scores& scores);
  /// This rank's scores of everything it evaluated, for a metric that wants them.
  ClassScores take_scores(std::size_t metric);
  /// How many labels the last scores() are of, and behind that the sums of all metrics.
  std::span<const double> metric_sums() const { return std::span(total_).first(kinds_); }

 private:
  struct Worker {
    TargetRows targets;
    std::vector<double> sums;                  ///< for each of its blocks
    std::vector<float> mixed_gradient;         ///< memory for a row, where samples are mixed
    std::vector<std::int32_t> lengths;         ///< of its rows, where samples have several
    std::vector<std::int32_t> output_lengths;  ///< what layers have left of them, for losses
    std::vector<ClassScores> scores;           ///< for each metric, those that it collects from evaluate()
    std::chrono::nanoseconds data_time{};
  };
  /// A worker's part of a step of training.
  struct WorkerPart {
    int worker = 0;
    std::span<const std::int64_t> samples;
    std::int64_t step = 0, epoch = 0, batch_rows = 0, mean_rows = 0;
    double mean_weight = 0;
    std::span<double> sums;  ///< to be added to
  };

  /// A worker's part of a batch.
  std::span<const std::int64_t> part(const Network& network, int worker,
                                     std::span<const std::int64_t> samples) const;
  void read_lengths(Worker& self, const Dataset& split, std::span<const std::int64_t> mine);
  /// Labels of a global batch, without those of padding.
  std::int64_t labels_of(const Dataset& split, std::span<const std::int64_t> samples) const;
  /// What the mean of their losses divides by: as many as there are, unless some classes count more. Of an
  /// epoch of training, which may mix samples, or of an evaluation.
  double weight_of(const Dataset& split, std::span<const std::int64_t> samples,
                   std::optional<std::int64_t> epoch);
  /// Adds to `sums`, block by block.
  void score(Network& network, int worker, std::int64_t batch_rows, ConstTensor y, float gradient_scale,
             std::span<double> sums);
  template <class Fetch>
  void learn(Network& network, const WorkerPart& part, const Fetch& fetch, GradientSink* sink);

  Session& session_;
  std::size_t kinds_ = 1;              ///< of sums
  std::int64_t output_positions_ = 0;  ///< of sequences; 0 where the model gives none
  std::vector<Worker> workers_;
  std::vector<double> total_;
  TargetRows whole_batch_;   ///< where the weight of a label depends on its class
  std::int64_t labels_ = 0;  ///< of all global batches since clear()
  double weight_ = 0;        ///< of these labels
  SampleLedger ledger_;
};

}  // namespace trainer
