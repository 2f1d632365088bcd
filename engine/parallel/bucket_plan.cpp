#include "engine/parallel/bucket_plan.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <stdexcept>

namespace trainer {

std::vector<std::int64_t> with_cuts(const std::vector<std::int64_t>& borders, std::int64_t most) {
  std::vector<std::int64_t> result;
  for (const std::int64_t border : borders) {
    const Range whole{result.empty() ? border : result.back(), border};
    const auto parts = static_cast<int>((whole.count() + most - 1) / most);
    for (int part = 1; part < parts; ++part) result.push_back(slice(whole, part, parts).first);
    result.push_back(border);
  }
  return result;
}

std::vector<Range> plan_buckets(const std::vector<std::int64_t>& borders, std::int64_t bucket_floats) {
  if (borders.empty() || borders.front() != 0 || !std::ranges::is_sorted(borders))
    throw std::logic_error("parameter borders must ascend from 0");
  std::vector<Range> buckets;
  std::int64_t last = borders.back();
  for (auto border = borders.rbegin(); border != borders.rend(); ++border)
    if (last - *border >= bucket_floats || *border == 0) {
      if (*border < last) buckets.push_back({*border, last});
      last = *border;
    }
  return buckets;
}

std::int64_t best_bucket(std::int64_t floats, int nodes, const NetworkLink& link) {
  constexpr double kFloat = sizeof(float);
  const double start = link.latency + (nodes - 1) * link.overhead;
  const double bytes = std::sqrt(static_cast<double>(floats) * kFloat * start * link.bandwidth);
  return std::max<std::int64_t>(1, std::llround(bytes / kFloat));
}

Range slice(const Range& whole, int part, int parts) {
  const auto cut = [&](int index) {
    if (index == parts) return whole.last;
    // Divided first: size * index could overflow.
    const std::int64_t each = whole.count() / parts, rest = whole.count() % parts;
    const std::int64_t position = whole.first + each * index + rest * index / parts;
    const std::int64_t rounded = (position + kSliceQuantum - 1) / kSliceQuantum * kSliceQuantum;
    return index == 0 ? whole.first : std::min(rounded, whole.last);
  };
  return {cut(part), cut(part + 1)};
}

Range slice_of_parameters(const std::vector<std::int64_t>& borders, const Range& whole, int part, int parts) {
  const auto cut = [&](int index) {
    if (index == parts) return whole.last;
    const std::int64_t position = slice(whole, index, parts).first;
    auto border = std::ranges::lower_bound(borders, whole.first);
    while (*border < whole.last && (*border + *std::next(border)) / 2 < position) ++border;
    return *border;
  };
  return {cut(part), cut(part + 1)};
}

}  // namespace trainer
