#pragma once

#include "cli/commands.h"
#include "cli/seats.h"
#include "engine/core/thread_pool.h"
#include "engine/parallel/mesh.h"

namespace trainer {

/// The grid of ranks and this rank's threads, as the command line asks for them: where a command computes.
struct Workplace {
  /// Collective. Error(ranks) when the ranks do not form what was asked for. Warns of too many threads.
  explicit Workplace(const Job& job);

  Mesh mesh;
  Seats seats;
  ThreadPool pool;
};

}  // namespace trainer
