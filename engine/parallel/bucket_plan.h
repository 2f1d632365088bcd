#pragma once

#include <cstdint>
#include <vector>

#include "engine/core/range.h"

namespace trainer {

/// The same borders and others between them, so that no two are more than about `most` apart.
std::vector<std::int64_t> with_cuts(const std::vector<std::int64_t>& borders, std::int64_t most);

/// Ranges of floats of the flat buffer: consecutive parameters from the end of the flat buffer, in the order
/// in which backward finishes them; a bucket is closed once it holds `bucket_floats`.
std::vector<Range> plan_buckets(const std::vector<std::int64_t>& borders, std::int64_t bucket_floats);

/// A link between nodes, in fixed figures instead of a timing, so that runs repeat.
struct NetworkLink {
  double latency = 20e-6;     ///< seconds that a message takes however short it is: MPI over TCP
  double bandwidth = 1.25e9;  ///< bytes a second: 10 Gbit/s
  double overhead = 1e-6;     ///< seconds of the sender for each message
};

/// The size at which all `floats` are exchanged soonest after backward. Each of k buckets costs the latency
/// and a message to each other node, and the last one, which backward cannot hide, floats / k over the
/// bandwidth: least where both are equal.
std::int64_t best_bucket(std::int64_t floats, int nodes, const NetworkLink& link);

inline constexpr std::int64_t kSliceQuantum = 16;
/// The `part`th of `parts` nearly equal slices. Cuts lie at multiples of kSliceQuantum in the flat buffer, so
/// that no two ranks write to one cache line.
Range slice(const Range& whole, int part, int parts);
/// The same of whole parameters, which begin at `borders`: those whose middle lies in slice(). `whole` begins
/// and ends at borders.
Range slice_of_parameters(const std::vector<std::int64_t>& borders, const Range& whole, int part, int parts);

}  // namespace trainer
