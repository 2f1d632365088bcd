#pragma once

#include <vector>

#include "cli/commands/commands.h"
#include "cli/launching/cpu_affinity.h"
#include "engine/config/config_tree.h"
#include "engine/parallel/mesh.h"

namespace trainer {

/// The meshes that forecast and --mesh auto compare: all data ranks, then groups of up to 16 model ranks.
std::vector<MeshShape> candidate_meshes(int ranks);

/// The mesh of job.world on which a step of `config` takes the least time by the model of planning, among
/// those whose memory fits; a note of rank 0 shows the times. It follows from the configuration, the ranks
/// and the link alone: the speed of a thread is a fixed figure. Collective. Errors as a run's.
MeshShape best_mesh(const Job& job, const ConfigSource& config, const CpuAffinity& affinity);

}  // namespace trainer
