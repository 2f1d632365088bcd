#pragma once

#include <mpi.h>

#include <vector>

namespace trainer {

/// Bytes a second at which each rank sends to a rank of the next host while all others do so, too; the least
/// of all ranks. A measurement of a few messages, for choices that change no result; measured_link() takes
/// longer and is for people. `hosts`: by rank, equal for ranks of one host, which are consecutive.
/// Collective; infinite on one host.
double measured_link_speed(MPI_Comm handle, const std::vector<int>& hosts);

}  // namespace trainer
