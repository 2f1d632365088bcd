#pragma once

#include "cli/commands/commands.h"
#include "cli/launching/cpu_affinity.h"
#include "engine/parallel/mesh.h"
#include "engine/system/thread_pool.h"

namespace trainer {

/// The mesh of ranks and this rank's threads, as the command line asks for them.
struct MeshAndThreads {
  /// Collective. Error(ranks) if the ranks do not form that mesh. Warns of too many threads.
  explicit MeshAndThreads(const Job& job);

  Mesh mesh;
  CpuAffinity affinity;
  ThreadPool pool;
};

}  // namespace trainer
