#include <cstdio>
#include <cstring>
#include <stdexcept>

#include "engine/parallel/mpi_world.h"

/// One rank fails while the others wait for it. The argument says how: "throw" (and what main makes of it).
int main(int argc, char** argv) {
  const auto world = trainer::start_world();
  try {
    if (argc > 1 && std::strcmp(argv[1], "throw") == 0 && world->rank() == world->size() - 1)
      throw trainer::Error(trainer::ExitCode::data, "this rank's file is bad");
    world->barrier();
    if (world->rank() == 0) std::printf("%d ranks\n", world->size());
  } catch (const trainer::Error& error) {
    std::fprintf(stderr, "rank %d: %s\n", world->rank(), error.what());
    world->abort(error.code());
  }
}
