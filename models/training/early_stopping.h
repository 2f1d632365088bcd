#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/config/setting.h"
#include "models/training/hook.h"
#include "models/training/settings.h"

namespace trainer {

/// Ends a run before its last step: when evaluations stop improving (`train.early_stopping`; Prechelt 1998,
/// "Early stopping - but when?", criterion UP), or at a loss or a time (`train.stop`). The last evaluation
/// and the last checkpoint follow as at any end.
class EarlyStopping final : public Hook {
 public:
  EarlyStopping(const TrainSettings& settings, const RunFacts& facts);

  /// Why the run has ended: "accuracy of valid has not risen in 5 evaluations"; empty: it continues.
  const std::string& reason() const { return reason_; }

  /// For checkpoints: of the loss, then of each metric, its best value and the evaluations since then.
  std::vector<double> state() const;
  /// `state` may be empty; `last`: the last evaluation; `seconds`: the time of the run so far.
  void restore(const std::vector<double>& state, const std::optional<Scores>& last, double seconds);

  void before_consensus(const Progress& run, Signals& mine) override;
  void before_update(std::int64_t step, const Signals& all) override;
  bool reads_parameters(const Progress&, std::int64_t) override { return is_time_over_; }
  void after_step(Progress& run) override;
  /// To be called after the evaluation and before the end of the epoch.
  void between_steps(Progress& run) override;

 private:
  struct Watched {
    std::string name;  ///< "loss", or a metric's
    bool higher_is_better = false;
    double best = 0;
    std::int64_t waited = 0;  ///< evaluations without improvement
    bool is_empty = true;     ///< no evaluation yet
  };
  void see(const Scores& scores);
  bool has_waited(const Watched& watched) const;
  /// The reason to end after this evaluation; empty if there is none.
  std::string reason_after(const Scores& scores) const;
  std::string text_of(const Watched& watched) const;
  std::string time_text() const;
  bool is_over(double seconds) const;
  void end(Progress& run, std::string reason);

  std::optional<EarlyStoppingSettings> settings_;
  StopSettings stop_;
  std::string split_;  ///< "valid" or "test"
  std::vector<Watched> watched_;
  std::size_t first_ = 0;  ///< the one of mode `first`
  bool is_time_over_ = false;
  std::string reason_;
};

/// Error(usage) if `train.early_stopping` or `train.stop.loss` needs evaluations or a metric that the run
/// does not have.
void check_early_stopping(const Config& train, const TrainSettings& settings,
                          const std::vector<MetricFacts>& metrics, bool evaluates);

/// Keys of `train`.
Setting early_stopping_key();
Setting stop_key();

}  // namespace trainer
