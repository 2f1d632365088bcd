#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "datasets/loading/row_loader.h"
#include "engine/core/arena.h"
#include "engine/parallel/parameter_window.h"
#include "models/training/batch.h"
#include "models/training/session.h"

namespace trainer {

/// Finds processors that compute wrongly, in exact mode, whose blocks have the same bits wherever they are
/// computed. In some steps every data rank computes a block of another one again, alone a block of its own,
/// and the gradients, loss, metrics and sums over the batch of both must be equal. Blocks and pairs of ranks
/// take turns. Needs memory for the gradient and the activations of one block.
class Crosscheck {
 public:
  /// `sums`: what the session's network would take its sums over the batch from.
  Crosscheck(const Config& root, Session& session, ParameterWindow& window, StatisticsReducer& sums);

  /// What it takes them from instead.
  StatisticsReducer& sums() { return recorder_; }
  /// Whether that step, counted from 0, is one of those; from now on until compare() if so.
  bool begin(std::int64_t step);
  /// When all gradients of the step's first part are there, none of them summed. Error(diverged) on all ranks
  /// when bits differ; world rank 0 names who is wrong. Collective.
  void compare(BatchRunner& batch, RowLoader& rows, const BatchRunner::Part& part);

 private:
  /// Keeps the sums over the batch, since no rank could take them alone.
  class Recorder final : public StatisticsReducer {
   public:
    Recorder(StatisticsReducer& sums, const VirtualWorkers& blocks, int rank)
        : sums_(sums), blocks_(blocks), rank_(rank) {}
    void begin(std::int64_t block);
    void end() { block_ = -1; }
    void sum(int worker, std::span<const double> lines, std::span<double> total) override;

    std::span<const double> totals() const { return totals_; }
    /// A checksum of what the block added to them.
    std::uint64_t checksum() const { return checksum_; }

   private:
    StatisticsReducer& sums_;
    VirtualWorkers blocks_;
    int rank_;
    std::int64_t block_ = -1;
    std::vector<double> totals_;
    std::uint64_t checksum_ = 0;
  };
  /// Gives them once more.
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
  /// What is compared: checksums of the loss and the metrics, of the sums over the batch, and of each
  /// parameter's gradient.
  using Traits = std::vector<std::uint64_t>;
  /// What differed, on world rank 0.
  struct Finding {
    int owner = -1;  ///< data rank
    std::size_t trait = 0;
  };

  /// The block of a data rank whose turn it is.
  std::int64_t block_of(int data_rank) const;
  /// The one who computes a block of `owner` when all look `shift` ranks further.
  int checker_of(int owner, int shift) const;
  Traits traits(std::span<const double> sums, std::uint64_t batch_sums,
                std::span<const float> gradient) const;
  Traits own(BatchRunner& batch) const;
  Traits recompute(BatchRunner& batch, RowLoader& rows, const BatchRunner::Part& part, int shift);
  Finding first_difference(const Traits& mine, const Traits& theirs) const;
  [[noreturn]] void fail(const Finding& finding, const std::vector<int>& wrong) const;

  Session& session_;
  std::unique_ptr<Network> network_;
  Arena gradient_;
  Recorder recorder_;
  Replay replay_;
  std::int64_t step_ = 0, turn_ = 0;
  int shift_ = 0;
};

}  // namespace trainer
