#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/core/arena.h"
#include "models/training/hook.h"
#include "models/training/training_parts.h"

namespace trainer {

/// Finds processors that compute wrongly. In exact mode a virtual worker has the same bits on every rank: in
/// some steps every data rank recomputes a virtual worker of another rank, and gradients, loss, metrics and
/// statistics of both must be equal. Virtual workers and pairs of ranks rotate. Needs memory for the gradient
/// and the activations of one virtual worker.
class Crosscheck final : public Hook {
 public:
  /// From here on the session's network takes its statistics through this object.
  Crosscheck(const Config& root, TrainingParts& parts);

  void before_step(std::int64_t step) override;
  /// The first micro-batch of a step that is checked.
  bool holds_gradients(const MicroBatch& batch) override { return checks_ && batch.is_first(); }
  /// Error(diverged) on all ranks when bits differ; world rank 0 names the rank that is wrong. Collective.
  void after_backward(const MicroBatch& batch) override;

 private:
  /// Records statistics over the batch, since no rank could reduce them alone.
  class Recorder final : public StatisticsReducer {
   public:
    Recorder(StatisticsReducer& sums, const VirtualWorkers& workers, int rank)
        : sums_(sums), workers_(workers), rank_(rank) {}
    void begin(std::int64_t virtual_worker);
    void end() { virtual_worker_ = -1; }
    void sum(int worker, std::span<const double> lines, std::span<double> total) override;

    std::span<const double> totals() const { return totals_; }
    /// A checksum of what the virtual worker added to them.
    std::uint64_t checksum() const { return checksum_; }

   private:
    StatisticsReducer& sums_;
    VirtualWorkers workers_;
    int rank_;
    std::int64_t virtual_worker_ = -1;
    std::vector<double> totals_;
    std::uint64_t checksum_ = 0;
  };
  /// Returns the recorded statistics.
  class Replay final : public StatisticsReducer {
   public:
    explicit Replay(int workers) : positions_(static_cast<std::size_t>(workers)) {}
    void begin(std::span<const double> totals);
    void sum(int worker, std::span<const double> lines, std::span<double> total) override;

    std::uint64_t checksum() const { return checksum_; }

   private:
    std::span<const double> totals_;
    std::vector<std::size_t> positions_;  ///< by worker
    std::uint64_t checksum_ = 0;
  };
  /// The compared checksums: of loss and metrics, of the statistics over the batch, and of each parameter's
  /// gradient.
  using Traits = std::vector<std::uint64_t>;
  /// The first difference, on world rank 0.
  struct Finding {
    int owner = -1;  ///< data rank
    std::size_t trait = 0;
  };

  /// The virtual worker of a data rank that this step checks.
  std::int64_t checked_worker(int data_rank) const;
  /// The rank that recomputes a virtual worker of `owner` when each rank checks the one `shift` ranks later.
  int checker_of(int owner, int shift) const;
  Traits traits(std::span<const double> sums, std::uint64_t batch_sums,
                std::span<const float> gradient) const;
  Traits own() const;
  Traits recompute(const MicroBatch& batch, int shift);
  Finding first_difference(const Traits& mine, const Traits& theirs) const;
  [[noreturn]] void fail(const Finding& finding, const std::vector<int>& wrong) const;

  TrainingParts& parts_;
  Session& session_;
  std::unique_ptr<Network> network_;
  BatchRunner runner_;
  RowLoader loader_;
  Arena gradient_;
  Recorder recorder_;
  Replay replay_;
  bool checks_ = false;  ///< this step
  std::int64_t step_ = 0, turn_ = 0;
  int shift_ = 0;
};

}  // namespace trainer
