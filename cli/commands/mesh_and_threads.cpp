#include "cli/commands/mesh_and_threads.h"

#include "cli/commands/best_mesh.h"

namespace trainer {
namespace {

Mesh::Options mesh_options(const Job& job, const ConfigSource& trained, const CpuAffinity& affinity) {
  const bool chooses = job.arguments.chooses_mesh && !trained.file.empty();
  const MeshShape shape =
      chooses ? best_mesh(job, trained, affinity) : mesh_of(job.arguments, job.world.size());
  return {.data = shape.data, .model = shape.model, .ranks_per_node = job.arguments.ranks_per_node};
}

}  // namespace

MeshAndThreads::MeshAndThreads(const Job& job, const ConfigSource& trained)
    : affinity(set_cpu_affinity(job.world, job.arguments.threads)),
      mesh(job.world, mesh_options(job, trained, affinity)),
      pool(
          affinity.placement.threads, affinity.placement.oversubscribed,
          [this](int thread) { run_on(cores_of_worker(affinity.placement, thread)); },
          workers_of(job.arguments.workers, affinity.placement.threads)) {
  if (!affinity.warning.empty()) job.warn("warning: " + affinity.warning + "\n");
}

}  // namespace trainer
