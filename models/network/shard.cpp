#include "models/network/shard.h"

#include <algorithm>

namespace trainer {
namespace {

/// Calls copy(offset in the whole, offset in the part, count) for each run of elements that are contiguous
/// in both.
template <class Copy>
void for_each_run(const Parameter& parameter, Copy copy) {
  if (parameter.shard_axis < 0) {
    copy(0, 0, parameter.shape.size());
    return;
  }
  const Shape& part = parameter.shape;
  const Shape& whole = parameter.whole_shape();
  Shape inner = part;
  std::int64_t outer = parameter.shard_groups;
  for (int axis = 0; axis < parameter.shard_axis; ++axis) {
    outer *= part[axis];
    inner = inner.without_front();
  }
  const std::int64_t step = inner.without_front().size(), count = inner.size() / parameter.shard_groups,
                     group = whole[parameter.shard_axis] / parameter.shard_groups;
  for (std::int64_t i = 0; i < outer; ++i) copy((i * group + parameter.shard_first) * step, i * count, count);
}

}  // namespace

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
