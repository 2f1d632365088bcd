#pragma once

#include "cli/commands/commands.h"
#include "cli/launching/cpu_affinity.h"
#include "engine/parallel/mesh.h"
#include "engine/system/thread_pool.h"

namespace trainer {

/// The grid of ranks and this rank's threads, as the command line asks for them: where a command computes.
struct MeshAndThreads {
  /// Collective. Error(ranks) when the ranks do not form what was asked for. Warns of too many threads.
  explicit MeshAndThreads(const Job& job);

  Mesh mesh;
  CpuAffinity affinity;
  ThreadPool pool;
};

}  // namespace trainer
