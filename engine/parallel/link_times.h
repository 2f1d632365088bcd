#pragma once

#include "engine/parallel/communicator.h"

namespace trainer {

/// The link of each host as messages of a run use it.
struct LinkTimes {
  double latency = 0;    ///< seconds of a sum of few values, with what MPI and waiting take
  double bandwidth = 0;  ///< bytes a second that leave each host while all exchange with all
};

/// Times sums and all-gathers between the ranks of `hosts`: at least two, one of each host. The figures are
/// those of the slowest host, the same on all ranks. Collective.
LinkTimes measured_link(Communicator& hosts);

}  // namespace trainer
