#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "models/training/batch.h"
#include "models/training/progress.h"

namespace trainer {

/// When a rank is ready to finish the sum of gradients, and for the consensus, in seconds (Waiting).
using Arrivals = std::array<double, 2>;

/// What a rank reports in a step; after the consensus, what any rank reports.
struct Signals {
  bool diverged = false;        ///< a loss or gradient is not finite
  bool stop = false;            ///< the run should stop
  bool save = false;            ///< a checkpoint is due by the clock
  bool time_is_over = false;    ///< of train.stop
  bool writing = false;         ///< a checkpoint is on its way to the disk
  double largest = 0;           ///< OptimizerShard::largest_gradient(), the largest of all data ranks
  Arrivals arrivals{};          ///< of this rank; of all data ranks the latest
  double sum_of_arrivals = 0;   ///< of both; and over data ranks
  double statistics = 0;        ///< seconds for sums of statistics of this rank; over data ranks
  double least_statistics = 0;  ///< minus those of this rank; of all data ranks the least, with a minus
  double least_waiting = 0;  ///< how little this rank waits, and which it is (Waiting); of the slowest rank
};

/// An object that the training loop calls before, within and after a step, or a round of local SGD. All ranks
/// have the same hooks in the same order, so hooks may make collective calls. Steps are counted from 0.
class Hook {
 public:
  virtual ~Hook() = default;

  /// Parameters and states are those after `done` steps; the loop begins.
  virtual void on_start(std::int64_t /*done*/) {}
  virtual void before_step(std::int64_t /*step*/) {}
  /// True if the gradients of this batch must not be reduced before after_backward().
  virtual bool holds_gradients(const MicroBatch&) { return false; }
  /// The workers' gradients are computed.
  virtual void after_backward(const MicroBatch&) {}
  /// A worker has used these samples in a step of a round (train.local). Workers call it at the same time.
  virtual void after_share(int /*worker*/, std::span<const std::int64_t> /*samples*/) {}
  /// Gradients are reduced. Adds to what this rank reports.
  virtual void before_consensus(const Progress&, Signals&) {}
  /// All is finite on all ranks; the update follows.
  virtual void before_update(std::int64_t /*step*/, const Signals&) {}
  /// True on all ranks if there shall be no update: parameters and optimizer states stay. After
  /// before_update().
  virtual bool skips_update() { return false; }
  /// The update follows; parts of it leave at once, and parameters of other ranks may arrive from here on.
  virtual void before_arrivals(std::int64_t /*done*/) {}
  /// This rank's shard is updated; `done`: steps before this update.
  virtual void before_publish(std::int64_t /*done*/) {}
  /// True if the hook reads parameters in after_step() or between_steps() after `done` steps. If no hook
  /// does, they arrive while the next forward runs.
  virtual bool reads_parameters(const Progress&, std::int64_t /*done*/) { return false; }
  /// This rank has all parameters after `done` steps: at the end of the step, or after the next backward.
  virtual void after_publish(std::int64_t /*done*/) {}
  virtual void after_step(Progress&) {}
  /// A checkpoint of the parameters and states after `run.step` steps begins.
  virtual void before_save(Progress& /*run*/) {}
  /// After after_step(): evaluation, the end of an epoch, checkpoints. Also at the start of a run that was
  /// stopped before these were done.
  virtual void between_steps(Progress&) {}
  /// The run ends because a value is not finite. Adds notes for the message of world rank 0.
  virtual void on_divergence(std::vector<std::string>& /*notes*/) {}
  /// The loop has ended without an error.
  virtual void on_end(Progress&) {}
};

/// Calls each of its hooks, in order.
class Hooks final : public Hook {
 public:
  void add(Hook& hook) { hooks_.push_back(&hook); }

  void on_start(std::int64_t done) override {
    for (Hook* hook : hooks_) hook->on_start(done);
  }
  void before_step(std::int64_t step) override {
    for (Hook* hook : hooks_) hook->before_step(step);
  }
  bool holds_gradients(const MicroBatch& batch) override {
    bool holds = false;
    for (Hook* hook : hooks_) holds |= hook->holds_gradients(batch);
    return holds;
  }
  void after_backward(const MicroBatch& batch) override {
    for (Hook* hook : hooks_) hook->after_backward(batch);
  }
  void after_share(int worker, std::span<const std::int64_t> samples) override {
    for (Hook* hook : hooks_) hook->after_share(worker, samples);
  }
  void before_consensus(const Progress& run, Signals& mine) override {
    for (Hook* hook : hooks_) hook->before_consensus(run, mine);
  }
  void before_update(std::int64_t step, const Signals& all) override {
    for (Hook* hook : hooks_) hook->before_update(step, all);
  }
  bool skips_update() override {
    return std::ranges::any_of(hooks_, [](Hook* hook) { return hook->skips_update(); });
  }
  void before_arrivals(std::int64_t done) override {
    for (Hook* hook : hooks_) hook->before_arrivals(done);
  }
  void before_publish(std::int64_t done) override {
    for (Hook* hook : hooks_) hook->before_publish(done);
  }
  bool reads_parameters(const Progress& run, std::int64_t done) override {
    bool reads = false;
    for (Hook* hook : hooks_) reads |= hook->reads_parameters(run, done);
    return reads;
  }
  void after_publish(std::int64_t done) override {
    for (Hook* hook : hooks_) hook->after_publish(done);
  }
  void after_step(Progress& run) override {
    for (Hook* hook : hooks_) hook->after_step(run);
  }
  void before_save(Progress& run) override {
    for (Hook* hook : hooks_) hook->before_save(run);
  }
  void between_steps(Progress& run) override {
    for (Hook* hook : hooks_) hook->between_steps(run);
  }
  void on_divergence(std::vector<std::string>& notes) override {
    for (Hook* hook : hooks_) hook->on_divergence(notes);
  }
  void on_end(Progress& run) override {
    for (Hook* hook : hooks_) hook->on_end(run);
  }

 private:
  std::vector<Hook*> hooks_;
};

}  // namespace trainer
