#include "cli/commands/mesh_and_threads.h"

namespace trainer {
namespace {

Mesh::Options mesh_options(const Job& job) {
  const MeshShape shape = mesh_of(job.arguments, job.world.size());
  return {.data = shape.data, .model = shape.model, .ranks_per_node = job.arguments.ranks_per_node};
}

}  // namespace

MeshAndThreads::MeshAndThreads(const Job& job)
    : mesh(job.world, mesh_options(job)),
      affinity(set_cpu_affinity(job.world, job.arguments.threads)),
      pool(affinity.placement.threads, affinity.placement.crowded) {
  if (!affinity.warning.empty()) job.warn("warning: " + affinity.warning + "\n");
}

}  // namespace trainer
