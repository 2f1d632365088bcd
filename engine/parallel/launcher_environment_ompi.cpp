#include <algorithm>
#include <array>
#include <cstdlib>

#include "engine/parallel/launcher_environment.h"
#include "engine/parallel/mpi_world.h"

namespace trainer {

void prepare_mpi_environment() {
  constexpr int kKeep = 0;  // a user's own value stays
  // mpirun's banner after MPI_Abort repeats what the failing rank has reported.
  setenv("OMPI_MCA_orte_execute_quiet", "1", kKeep);
  // Copies through shared memory are faster than the kernel's (measured), and containers often forbid those.
  setenv("OMPI_MCA_btl_vader_single_copy_mechanism", "none", kKeep);
  // One-sided messages between hosts: Debian leaves out what sends them over TCP.
  setenv("OMPI_MCA_osc", "^ucx", kKeep);
}

bool mpi_yields() { return true; }

bool binding_was_chosen() {
  // mpirun turns --bind-to, --map-by, --cpu-set and --rankfile into these. It also binds by default; other
  // launchers bind on request only.
  constexpr std::array requests{"OMPI_MCA_hwloc_base_binding_policy", "OMPI_MCA_rmaps_base_mapping_policy",
                                "OMPI_MCA_hwloc_base_cpu_set", "OMPI_MCA_orte_rankfile"};
  const bool asked = std::ranges::any_of(requests, [](const char* name) { return std::getenv(name); });
  return (asked || !std::getenv("OMPI_COMM_WORLD_SIZE")) && bound_below_parent();
}

}  // namespace trainer
