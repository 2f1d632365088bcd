#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "models/proof/chain.h"
#include "models/training/observers.h"
#include "models/training/training_parts.h"

namespace trainer {

/// The fingerprints of single items in a step, of which the record has sums.
struct ChainItems {
  std::vector<std::uint64_t> rows;       ///< of the batch, in its order
  std::vector<std::uint64_t> gradients;  ///< of each parameter
  std::vector<std::uint64_t> weights;    ///< of each parameter, then of each state of the model
  std::span<const std::int64_t> samples;
};

/// Receives the records of a run that is replayed, instead of its observers.
class ChainListener {
 public:
  virtual ~ChainListener() = default;
  /// On world rank 0. The first call is for the weights with which the run begins.
  virtual void on_record(const ChainRecord& record, const ChainItems& items) = 0;
};

/// `train.chain`: hashes of batch, gradients and weights of each step in a chain of SHA-256 values, which are
/// the same on every placement. Observers get its lines, many at once; a checkpoint holds its value. Exact
/// mode only.
class ChainHook final : public Hook, public RowWatch {
 public:
  /// `value`: of a run that resumes, else empty. `listener`: may be null on all ranks.
  ChainHook(TrainingParts& parts, const Observers& observers, const std::string& value,
            ChainListener* listener);

  void on_load(int worker, const Rows& rows) override;
  /// Collective.
  void on_start(std::int64_t done) override;
  void before_step(std::int64_t step) override;
  /// Adds the hashes of all ranks. Collective.
  void before_publish(std::int64_t done) override;
  void after_step(Progress& run) override;
  void before_save(Progress& run) override { link(run); }
  void on_divergence(std::vector<std::string>&) override { link_records(); }
  void on_end(Progress& run) override { link(run); }

 private:
  /// Written by its own thread only.
  struct alignas(64) Worker {
    FingerprintSums batch;
    std::vector<std::uint64_t> hashes;  ///< of its rows
    std::vector<std::uint64_t> values;  ///< of targets of one kind
  };

  void add_input(Worker& worker, const Rows& rows);
  void add_targets(Worker& worker, const Rows& rows);
  /// Adds the worker's hashes to its sums, and copies them to `kept` for the listener.
  void add_rows(Worker& worker, std::int64_t first, std::vector<std::uint64_t>& kept);
  void add_items();
  /// Adds `items_` over ranks and sums them up. Collective.
  void reduce();
  /// Links the records that wait, and passes them to the observers or to the listener.
  void link_records();
  /// The same; `run` gets the value of the last one.
  void link(Progress& run);
  std::size_t tensors() const;

  TrainingParts& parts_;
  const Observers& observers_;
  ChainListener* listener_;
  std::optional<Sha256Digest> value_;
  ChainRecord record_;
  std::vector<ChainRecord> waiting_;  ///< not linked yet
  std::string lines_;                 ///< of these
  std::vector<Worker> workers_;
  std::vector<PlaceFactors> row_factors_;
  std::vector<std::uint64_t> input_rows_, target_rows_;  ///< of the batch, for the listener
  ChainItems items_;
};

}  // namespace trainer
