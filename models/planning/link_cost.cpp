#include "models/planning/link_cost.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace trainer {

LinkCost::Time LinkCost::exchange(double bytes, int nodes) const {
  if (nodes < 2 || bytes <= 0) return {};
  const double others = nodes - 1;
  const double sender = others * overhead, busy = others / nodes * bytes * seconds_of_byte();
  // Messages leave while later ones are prepared.
  return {sender, busy, latency + std::max(sender + busy / others, overhead + busy)};
}

double LinkCost::all_reduce(double bytes, int nodes) const {
  if (nodes < 2 || bytes <= 0) return 0;
  const double others = nodes - 1, rounds = std::ceil(std::log2(nodes)), start = latency + overhead;
  const double direct = latency + others * (overhead + bytes / bandwidth);
  const double doubling = rounds * (start + bytes / bandwidth);
  const double halving = 2 * rounds * start + 2 * others / nodes * bytes / bandwidth;
  return std::min({direct, doubling, halving});
}

double LinkCost::sum(double bytes, int nodes, bool shared) const {
  if (nodes < 2 || bytes <= 0) return 0;
  constexpr int kFewNodes = 16;
  constexpr double kFewBytes = 1 << 12, kMostBytes = 1 << 17;
  const double others = nodes - 1;
  double alone = bytes / bandwidth;  // a message
  if (nodes <= kFewNodes && bytes <= kFewBytes) {
    if (shared) alone *= 2;  // as many messages of either kind
    return latency + std::max(others * overhead + alone, overhead + others * alone);
  }
  if (shared) alone *= nodes;
  const auto ranks = static_cast<unsigned>(nodes);
  const int lower = std::bit_width(ranks) - 1, upper = std::bit_width(ranks - 1);
  // Ranks beyond a power of two take two more rounds.
  if (bytes <= kMostBytes) return (lower < upper ? lower + 2 : lower) * (latency + overhead + alone);
  double time = 0;
  for (int children = upper; children > 0; --children) {
    time += 2 * (latency + overhead + alone);
    // On the way down a node sends to all its children at a time.
    if (!shared) time += (children - 1) * std::max(0.0, alone - overhead);
  }
  return time;
}

}  // namespace trainer
