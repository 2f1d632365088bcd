#include "cli/workplace.h"

namespace trainer {
namespace {

Mesh::Options mesh_options(const Job& job) {
  const MeshShape shape = mesh_of(job.arguments, job.world.size());
  return {.data = shape.data, .model = shape.model, .ranks_per_node = job.arguments.ranks_per_node};
}

}  // namespace

Workplace::Workplace(const Job& job)
    : mesh(job.world, mesh_options(job)),
      seats(take_seats(job.world, job.arguments.threads)),
      pool(seats.placement.threads, seats.placement.crowded) {
  if (!seats.warning.empty()) job.warn("warning: " + seats.warning + "\n");
}

}  // namespace trainer
