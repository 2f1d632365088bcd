#pragma once

#include <string>
#include <vector>

#include "models/training/hook.h"
#include "models/training/optimizer_shard.h"
#include "models/training/shard_norms.h"

namespace trainer {

/// `train.log.gradients`: in steps that are logged, the norms of each layer's gradient before clipping, of
/// its parameters, and of their change by the update. Frozen layers have none. The bits do not depend on the
/// partition of the gradients. Has to act before the hooks that clip, and before observers.
class GradientLog final : public Hook {
 public:
  GradientLog(const std::vector<Parameter>& parameters, OptimizerShard& shard, AllReduce& scalars,
              Communicator& model);

  /// Names of the layers that learn, in the order of the reports.
  static std::vector<std::string> layers(const std::vector<Parameter>& parameters);

  void before_consensus(const Progress& run, Signals&) override { is_due_ = run.report.logged; }
  void before_update(std::int64_t step, const Signals& all) override;
  void before_publish(std::int64_t done) override;
  void after_step(Progress& run) override { run.report.layers = reports_; }

 private:
  OptimizerShard& shard_;
  AllReduce& scalars_;
  Communicator& model_;
  std::vector<std::size_t> layer_of_;  ///< of each parameter
  std::vector<LayerNorms> reports_;    ///< of a step that is logged; else empty
  std::size_t layers_;
  ShardNorms norms_;
  std::vector<float> before_;  ///< the counted values of this shard, then their changes
  bool is_due_ = false;
};

}  // namespace trainer
