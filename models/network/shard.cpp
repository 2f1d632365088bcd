#include "models/network/shard.h"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <vector>

namespace trainer {
namespace {

std::int64_t sum_of(const std::vector<std::int64_t>& lengths) {
  return std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
}

/// A group of one member has whole parameters as shards.
bool is_cut(const Parameter& parameter) {
  return parameter.shard_axis >= 0 && parameter.shape != parameter.whole_shape();
}

/// Calls copy(offset in the whole, offset in the part, count) for each run of elements that are contiguous
/// in both.
template <class Copy>
void for_each_run(const Parameter& parameter, Copy copy) {
  if (!is_cut(parameter)) {
    copy(0, 0, parameter.shape.size());
    return;
  }
  const Shape& part = parameter.shape;
  const std::int64_t here = part[parameter.shard_axis], all = parameter.whole_shape()[parameter.shard_axis];
  Shape inner = part;
  std::int64_t outer = 1;
  for (int axis = 0; axis < parameter.shard_axis; ++axis) {
    outer *= part[axis];
    inner = inner.without_front();
  }
  const std::int64_t step = inner.without_front().size(), lengths = sum_of(parameter.shard_groups);
  for (std::int64_t i = 0; i < outer; ++i) {
    std::int64_t to = i * here, group = i * all;
    for (const std::int64_t length : parameter.shard_groups) {
      const std::int64_t count = here / lengths * length;
      copy((group + parameter.shard_first * length) * step, to * step, count * step);
      to += count;
      group += all / lengths * length;
    }
  }
}

}  // namespace

ShardRun run_at(const Parameter& parameter, std::int64_t position) {
  if (!is_cut(parameter)) return {position, parameter.shape.size() - position};
  const std::int64_t here = parameter.shape[parameter.shard_axis],
                     all = parameter.whole_shape()[parameter.shard_axis],
                     lengths = sum_of(parameter.shard_groups);
  std::int64_t step = 1;
  for (int axis = parameter.shard_axis + 1; axis < parameter.shape.rank(); ++axis)
    step *= parameter.shape[axis];
  const std::int64_t outer = position / (here * step);
  std::int64_t place = position % (here * step), group = outer * all;
  for (const std::int64_t length : parameter.shard_groups) {
    const std::int64_t count = here / lengths * length * step;
    if (place < count) return {(group + parameter.shard_first * length) * step + place, count - place};
    place -= count;
    group += all / lengths * length;
  }
  throw std::logic_error("a position behind the end of a shard");
}

void take_shard(const Parameter& parameter, std::span<const float> whole, std::span<float> part) {
  for_each_run(parameter, [&](std::int64_t from, std::int64_t to, std::int64_t count) {
    std::copy_n(whole.data() + from, count, part.data() + to);
  });
}

void place_shard(const Parameter& parameter, std::span<const float> part, std::span<float> whole) {
  for_each_run(parameter, [&](std::int64_t to, std::int64_t from, std::int64_t count) {
    std::copy_n(part.data() + from, count, whole.data() + to);
  });
}

}  // namespace trainer
