#pragma once

#include "engine/parallel/communicator.h"

namespace trainer {

/// The link of each host as messages of a run use it.
struct LinkTimes {
  double latency = 0;    ///< seconds of a sum of few values between layers, with what MPI and waiting take
  double bandwidth = 0;  ///< bytes a second that leave each host while all exchange with all
  /// Seconds that a thread which computes loses for each byte that leaves its host while another arrives.
  double overhead_per_byte = 0;
};

/// Times sums and all-gathers between the ranks of `hosts`: at least two, one of each host. One thread of
/// each computes meanwhile, so the figures hold what a processor's quota and other programs take. They are
/// those of the slowest host, the same on all ranks. Collective.
LinkTimes measured_link(Communicator& hosts);

}  // namespace trainer
