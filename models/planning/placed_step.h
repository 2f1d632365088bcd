#pragma once

#include <string>
#include <vector>

#include "engine/core/float_code.h"
#include "engine/parallel/compression.h"
#include "engine/parallel/planned_ranks.h"
#include "engine/parallel/sharding.h"
#include "models/planning/compressed_bytes.h"
#include "models/planning/layer_costs.h"
#include "models/planning/placed_parameters.h"
#include "models/planning/step_model.h"

namespace trainer {

/// A step of a run that is placed on ranks and hosts.
struct PlacedStep {
  const PlannedRanks& ranks;
  const std::vector<PlacedParameters>& parameters;
  const std::vector<LayerCost>& layers;
  VirtualWorkers workers;
  std::int64_t rows = 1;  ///< of a rank in a micro-batch, the most of any rank
  int micro_batches = 1;
  Compression compression = {};
  Sharding sharding = Sharding::state;
  std::vector<CompressedMessage> compressed = {};  ///< with error feedback, in place of buckets
  std::int64_t scalars = 0;  ///< doubles of a rank in the all-reduce of loss, metrics and signals
};

/// What a rank computes in a step, seconds, if it held the whole model: forward, backward, sums and data of a
/// micro-batch, and the update.
struct ComputingTimes {
  double data = 0, forward = 0, backward = 0, sums = 0, update = 0;
  double gradient_code_ratio = kUniformCodeRatio;  ///< bytes of the lossless code of gradients over theirs
  double deviation = 0;                            ///< standard, of a step of one process, over its mean
  int processes = 1;  ///< that take such times, each by itself, and wait for the slowest of them
};

/// A collective operation of a step, as rank 0 takes part in it.
struct Collective {
  enum class Between { memory_of_host, processes_of_host, hosts };
  std::string what;  ///< "reduce-scatter of gradients, bucket 1"
  std::string when;  ///< "backward"
  Between between = Between::hosts;
  int members = 1;         ///< ranks or hosts
  std::int64_t times = 1;  ///< in a step
  std::int64_t bytes = 0;  ///< of one of these: the whole buffer
  std::int64_t sent = 0;   ///< bytes that leave each member in a step; 0 in memory of the host
};

/// The collectives of a step, in their order.
std::vector<Collective> collectives_of(const PlacedStep& step);

/// The step for predict_step(): the computing of the whole model is divided over layers in proportion to
/// their operations, and a shard takes its share. `cost`: of the link between hosts, also for
/// predict_step(); ranks of a host that hold different shards share it.
StepWork work_of(const PlacedStep& step, const ComputingTimes& times, const LinkCost& cost);
/// What is left of the link for each of them.
LinkCost cost_of_shard(const PlacedStep& step, LinkCost cost);

}  // namespace trainer
