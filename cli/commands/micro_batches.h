#pragma once

#include <string>

#include "cli/commands/open_run.h"
#include "models/planning/memory_plan.h"

namespace trainer {

/// The memory of this rank when it trains. `program`: bytes of the process besides what the run allocates.
MemoryPlan memory_of_training(const OpenRun& run, std::int64_t program);

/// Bytes of this rank in such a plan, with its share of the blocks that ranks share.
std::int64_t bytes_of_rank(const MemoryPlan& plan, const Session& session);

/// open_run() after it has replaced `accumulate: {fit: SIZE}` in `config` by the least number of
/// micro-batches with which the memory of every rank is at most SIZE. In exact mode the number follows from
/// the config alone. Error(ranks) if no number fits, Error(usage) if the number is more than rounding to the
/// result. Collective.
OpenRun open_fitted_run(ConfigSource& config, Mesh& mesh, ThreadPool& pool, const std::string& learned = "");

/// The same for the rank of a plan alone. Not collective.
OpenRun open_fitted_plan(ConfigSource& config, Mesh& mesh, ThreadPool& pool);

}  // namespace trainer
