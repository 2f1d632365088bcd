#include <cstdio>
#include <cstring>
#include <memory>

#include "engine/parallel/mpi_world.h"

/// As the program does: start, work together, and end all ranks when one fails. With "throw" the last rank
/// fails while the others wait for it.
int main(int argc, char** argv) {
  std::unique_ptr<trainer::Communicator> world;
  try {
    world = trainer::start_world();
    if (argc > 1 && std::strcmp(argv[1], "throw") == 0 && world->rank() == world->size() - 1)
      throw trainer::Error(trainer::ExitCode::data, "this rank's file is bad");
    world->barrier();
    if (world->rank() == 0) std::printf("%d ranks\n", world->size());
  } catch (const trainer::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    if (!world) return static_cast<int>(error.code());
    world->abort(error.code());
  }
}
