#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "engine/config/setting.h"
#include "engine/parallel/all_reduce.h"
#include "models/training/hook.h"
#include "models/training/optimizer_shard.h"
#include "models/training/settings.h"

namespace trainer {

/// The gradient norms of the last updates, and whether the next one is an outlier among them.
class NormHistory {
 public:
  explicit NormHistory(const OutlierSettings& settings);

  /// Takes the norm of the next update. Returns a value if it lies more than z standard deviations above the
  /// mean of the last `window` norms; such a norm is kept as that limit, so that one outlier does not hide
  /// the next one, and a lasting change is accepted after some steps (winsorised, as ZClip,
  /// arXiv:2504.02507).
  std::optional<SkippedUpdate> take(double norm);

  /// The norms that are kept, the oldest first.
  const std::vector<double>& norms() const { return norms_; }
  /// Any numbers; those of an empty history if they cannot be norms.
  void restore(const std::vector<double>& norms);

 private:
  OutlierSettings settings_;
  std::vector<double> norms_;
};

/// `train.skip_outliers`: skips an update whose gradient, before clipping, is an outlier. Parameters, their
/// EMA and optimizer states stay; the step counts, and layers keep the statistics of its batch. Has to act
/// before the hooks that clip, and before observers.
class OutlierUpdates final : public Hook {
 public:
  OutlierUpdates(const std::optional<OutlierSettings>& settings, const OptimizerShard& shard,
                 AllReduce& scalars, Communicator& model);

  /// For checkpoints; empty if the run skips none.
  std::vector<double> state() const { return history_ ? history_->norms() : std::vector<double>(); }
  void restore(const std::vector<double>& state);

  void before_update(std::int64_t step, const Signals& all) override;
  bool skips_update() override { return skipped_.has_value(); }
  void after_step(Progress& run) override { run.report.skipped = skipped_; }

 private:
  const OptimizerShard& shard_;
  AllReduce& scalars_;
  Communicator& model_;
  std::optional<NormHistory> history_;
  std::optional<SkippedUpdate> skipped_;  ///< the update of this step
};

/// Error(usage) if the run has no updates that can be skipped. `apart`: TrainSettings::steps_apart().
std::optional<OutlierSettings> outlier_settings(const Config& train, std::string_view apart,
                                                bool has_feedback);

/// The key of `train`.
Setting skip_outliers_key();

}  // namespace trainer
