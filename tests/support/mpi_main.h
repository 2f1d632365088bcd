#pragma once

#include "engine/parallel/communicator.h"

namespace trainer {

/// All ranks of a test program that is linked with mpi_main.
Communicator& test_world();

}  // namespace trainer
