#pragma once

#include <algorithm>

#include "engine/parallel/bucket_plan.h"

namespace trainer {

/// How long messages take on a link between nodes. A message of n bytes arrives `latency + n / bandwidth`
/// after it is sent (Hockney, "The communication challenge for MPP", Parallel Computing 20, 1994), and
/// occupies its sender for `overhead` besides (o of LogP, Culler et al. 1993). Each of its bytes takes time
/// of a processor, too (O of LogGOPS, Hoefler, Schneider and Lumsdaine 2010). Each node sends and receives at
/// the full bandwidth at a time, and all pairs of nodes are equally far apart.
///
/// Times are seconds, sizes bytes.
struct LinkCost {
  double latency = NetworkLink{}.latency;      ///< seconds
  double bandwidth = NetworkLink{}.bandwidth;  ///< bytes a second
  double overhead = NetworkLink{}.overhead;    ///< seconds of the sender for each message
  /// Seconds of computing that each byte takes which leaves a node while another arrives (O of LogGOPS).
  double overhead_per_byte = 0;

  /// Of a stream of bytes on the link: the processor handles none faster than its overhead allows.
  double seconds_of_byte() const { return std::max(1 / bandwidth, overhead_per_byte); }
  /// An exchange that begins at once: how long it occupies the sender's thread and its link, and when it is
  /// complete.
  struct Time {
    double sender = 0, busy = 0, complete = 0;
  };
  /// Reduce-scatter or all-gather of `bytes` over `nodes`, as MpiExchange runs them: each node sends each
  /// other node its part, all at once. nodes - 1 messages and (nodes - 1) / nodes of the bytes leave each
  /// node; that is the least possible traffic (Thakur, Rabenseifner and Gropp 2005, section 3).
  Time exchange(double bytes, int nodes) const;
  /// All-reduce of `bytes`: the fastest of exchange of everything with everyone (few nodes), recursive
  /// doubling (few bytes) and Rabenseifner's algorithm (Thakur et al. 2005, section 4). Nothing overlaps it.
  double all_reduce(double bytes, int nodes) const;
  /// Sum of few values between hosts, as MpiCommunicator::sum() runs it: up to 16 nodes and 4 KiB each sends
  /// all others its values; up to 128 KiB recursive doubling; else MPI's, for which Open MPI has a binomial
  /// tree up and one down. `shared`: all nodes exchange gradients or parameters meanwhile, and each message
  /// has its fair share of the link.
  double sum(double bytes, int nodes, bool shared) const;
};

/// Between processes of one host, by MPI's shared memory: a processor copies at about 5 GB/s.
inline constexpr LinkCost kWithinHost{.latency = 1e-6, .bandwidth = 5e9, .overhead = 0};

}  // namespace trainer
