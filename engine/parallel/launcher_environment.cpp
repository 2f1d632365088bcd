#include "engine/parallel/launcher_environment.h"

#include <sched.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

namespace trainer {
namespace {

int number(const char* variable, int otherwise) {
  const char* text = std::getenv(variable);
  return text && *text ? std::atoi(text) : otherwise;
}

}  // namespace

Launched launched_by_environment() {
  struct Launcher {
    const char *rank, *ranks;
  };
  // SLURM_NTASKS alone proves nothing, being set in a batch script too; srun's MPI plugins set PMI_ or
  // PMIX_RANK.
  constexpr std::array launchers{Launcher{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                 Launcher{"PMI_RANK", "PMI_SIZE"}, Launcher{"PMIX_RANK", "SLURM_NTASKS"}};
  for (const Launcher& launcher : launchers)
    if (std::getenv(launcher.rank))
      return {.rank = number(launcher.rank, 0), .ranks = number(launcher.ranks, 1)};
  return {};
}

bool bound_below_parent() {
  cpu_set_t mine, parent, both;
  if (sched_getaffinity(0, sizeof mine, &mine) != 0) return false;
  if (sched_getaffinity(getppid(), sizeof parent, &parent) != 0) return false;
  CPU_AND(&both, &mine, &parent);
  return CPU_EQUAL(&both, &mine) && CPU_COUNT(&mine) < CPU_COUNT(&parent);
}

}  // namespace trainer
