#include "models/planning/link_cost.h"

#include <algorithm>
#include <cmath>

namespace trainer {

LinkCost::Time LinkCost::exchange(double bytes, int nodes) const {
  if (nodes < 2 || bytes <= 0) return {};
  const double others = nodes - 1;
  const double busy = others * overhead + others / nodes * bytes / bandwidth;
  return {busy, busy + latency};
}

double LinkCost::all_reduce(double bytes, int nodes) const {
  if (nodes < 2 || bytes <= 0) return 0;
  const double others = nodes - 1, rounds = std::ceil(std::log2(nodes)), start = latency + overhead;
  const double direct = latency + others * (overhead + bytes / bandwidth);
  const double doubling = rounds * (start + bytes / bandwidth);
  const double halving = 2 * rounds * start + 2 * others / nodes * bytes / bandwidth;
  return std::min({direct, doubling, halving});
}

}  // namespace trainer
