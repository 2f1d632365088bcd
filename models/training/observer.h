#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/core/memory_ledger.h"
#include "models/training/staleness.h"

namespace trainer {

/// Mean loss and metric values over some samples, in the order of train.metrics.
struct Scores {
  std::int64_t samples = 0;
  double loss = 0;
  std::vector<double> metrics;
  /// Of an evaluation, for each metric: empty where it has none.
  std::vector<std::vector<double>> tables = {};
};

/// The most sums that all metrics may have together; checkpoints keep them.
inline constexpr std::size_t kMaxMetricSums = 500'000;

/// How a metric is named and shown.
struct MetricFacts {
  std::string name, short_name;
  bool is_fraction = true, higher_is_better = true;
  std::string table_name = {};  ///< empty: it has none
  bool counts_samples = true;   ///< a fraction of the samples
  bool has_program = false;     ///< a program gives it, for evaluations while the run trains alone
};

/// What is known before the first step.
struct RunFacts {
  std::int64_t steps_per_epoch = 0, total_steps = 0, batch = 0;
  std::int64_t first_step = 0;  ///< steps done before this process, in a run that is resumed
  int epochs = 0;               ///< the last one may be cut short by train.steps
  std::vector<MetricFacts> metrics;
  std::string evaluation_split;                 ///< "valid", "test" or empty
  int nodes = 1;                                ///< that the data ranks span
  int ranks = 1;                                ///< of the run
  int model_ranks = 1;                          ///< of a model group
  std::vector<std::string> logged_layers = {};  ///< of train.log.gradients
  bool has_chain = false;                       ///< train.chain
  bool is_async = false;                        ///< train.async: reports have a staleness
};

/// The time of training on this rank, and of its phases.
struct StepTimes {
  std::chrono::nanoseconds training{};
  std::chrono::nanoseconds data{};          ///< loading samples, the mean over workers
  std::chrono::nanoseconds reduce{};        ///< statistics; after backward, until the gradients are reduced
  std::chrono::nanoseconds statistics{};    ///< part of reduce: all-reduces inside layers (batch_norm)
  std::chrono::nanoseconds consensus{};     ///< all-reduce of loss, metrics and signals
  std::chrono::nanoseconds update{};        ///< of this rank's optimizer shard
  std::chrono::nanoseconds publish{};       ///< all-gather of parameters
  std::chrono::nanoseconds arrivals{};      ///< part of publish: layers wait for parameters
  std::chrono::nanoseconds waiting{};       ///< part of communication(): until the slowest rank has computed
  std::chrono::nanoseconds mean_waiting{};  ///< the same as a mean over data ranks

  std::chrono::nanoseconds communication() const { return reduce + consensus + publish; }
  /// The part of communication() that is in the times of layers.
  std::chrono::nanoseconds inside_layers() const { return statistics + arrivals; }
  /// Of the time for training.
  double share(std::chrono::nanoseconds part) const {
    return training.count() > 0 ? static_cast<double>(part.count()) / static_cast<double>(training.count())
                                : 0;
  }
  StepTimes& operator+=(const StepTimes& other);
  StepTimes& operator-=(const StepTimes& other);
};

/// Of the parameters of a layer, in a step: the norms of their gradient, of their values before the update,
/// and of its change to them.
struct LayerNorms {
  double gradient = 0, parameters = 0, change = 0;
};

/// An update that was skipped because of the norm of its gradient, and the mean and the standard deviation of
/// the norms before it.
struct SkippedUpdate {
  double norm = 0, mean = 0, deviation = 0;
};

/// One step of training. All ranks have the same values, except times.
struct StepReport {
  std::int64_t step = 0;  ///< counted from 1
  int epoch = 1;          ///< counted from 1
  Scores scores;          ///< of this step's batch, before the update
  double rate = 0, examples_per_second = 0;
  /// Shares of the epoch's time: for communication without waiting for other ranks, for that (a mean over
  /// ranks), and for samples.
  double comm_share = 0, wait_share = 0, data_share = 0;
  /// The rank that the others wait for, or the first one of its model group; -1: waiting takes little time.
  int slow_rank = -1;
  /// Of compression with error feedback, in steps that are logged: GradientReducer::compression_error().
  std::optional<double> compression_error = {};
  double time = 0;      ///< seconds since the first step began
  bool logged = false;  ///< due by train.log_every
  StepTimes times;      ///< of this step
  /// Of RunFacts::logged_layers, in steps that are logged.
  std::vector<LayerNorms> layers = {};
  std::optional<SkippedUpdate> skipped = {};
  /// With train.async: of the gradients since the last line of the log.
  std::optional<Staleness> staleness = {};
};

/// After an epoch (or the last, shorter one): training scores over the epoch, and those of an evaluation when
/// it was due.
struct EpochReport {
  int epoch = 1;
  std::int64_t step = 0;
  Scores train;
  std::optional<Scores> evaluation;
  double rate = 0, examples_per_second = 0, comm_share = 0, wait_share = 0, data_share = 0;
  int slow_rank = -1;     ///< StepReport::slow_rank
  double time = 0;        ///< seconds since the first step began
  double epoch_time = 0;  ///< seconds this epoch took, evaluation included
  bool best = false;
  std::optional<Staleness> staleness = {};  ///< of the epoch, with train.async
};

/// The result of a run.
struct RunResult {
  std::int64_t steps = 0;
  bool stopped = false;  ///< before its end, by a signal or the time limit
  std::string reason;    ///< why it ended before its last step, complete; empty: it did not
  double time = 0, comm_share = 0, wait_share = 0, data_share = 0;
  int slow_rank = -1;             ///< StepReport::slow_rank
  std::int64_t memory = 0;        ///< bytes of all ranks at the end, shared pages counted once; 0: not known
  MemoryByKind memory_of_rank{};  ///< of each kind the most that a rank had at a time
  int best_epoch = 0;             ///< 0: none, or the initial weights
  std::optional<Scores> best, last;  ///< on the evaluation split
};

/// Receives the events of a run, on world rank 0 only: the terminal and the run directory.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void on_start(const RunFacts&) {}
  virtual void on_step(const StepReport&) {}
  /// An evaluation that was due in the middle of an epoch (`evaluate: {steps: N}`) or at an epoch's end.
  virtual void on_evaluation(const StepReport& /*after*/, const std::string& /*split*/, const Scores&) {}
  virtual void on_epoch(const EpochReport&) {}
  /// Lines of chain.jsonl, without the last newline.
  virtual void on_chain(const std::string& /*lines*/) {}
  /// A checkpoint begins: all that was reported so far must outlive a power cut.
  virtual void on_save() {}
  virtual void on_end(const RunResult&) {}
};

}  // namespace trainer
