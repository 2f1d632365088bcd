#pragma once

#include "cli/commands/commands.h"
#include "cli/launching/cpu_affinity.h"
#include "engine/config/config_tree.h"
#include "engine/parallel/mesh.h"
#include "engine/system/thread_pool.h"

namespace trainer {

/// The mesh of ranks and this rank's threads, as the command line asks for them.
struct MeshAndThreads {
  /// Collective. Error(ranks) if the ranks do not form that mesh. Warns of too many threads. `trained`: the
  /// configuration for which --mesh auto chooses; without one it stands for data ranks only.
  explicit MeshAndThreads(const Job& job, const ConfigSource& trained = {});

  CpuAffinity affinity;
  Mesh mesh;
  ThreadPool pool;
};

}  // namespace trainer
