#include "datasets/subset.h"

#include <algorithm>
#include <array>

namespace trainer {
namespace {

DatasetInfo with_size(DatasetInfo info, std::int64_t size) {
  info.size = size;
  return info;
}

}  // namespace

Subset::Subset(const Dataset& all, std::vector<std::int64_t> indices)
    : Dataset(with_size(all.info(), std::ssize(indices))), all_(all), indices_(std::move(indices)) {}

Subset::Subset(const Dataset& all, std::int64_t size) : Dataset(with_size(all.info(), size)), all_(all) {}

template <class Read>
void Subset::for_each_chunk(std::span<const std::int64_t> indices, const Read& read) const {
  std::array<std::int64_t, 64> positions;  // on the stack: a training step allocates nothing
  for (std::size_t first = 0; first < indices.size(); first += positions.size()) {
    const std::size_t count = std::min(positions.size(), indices.size() - first);
    for (std::size_t i = 0; i < count; ++i) positions[i] = position(indices[first + i]);
    read(std::span<const std::int64_t>(positions.data(), count), static_cast<std::int64_t>(first));
  }
}

void Subset::read(std::span<const std::int64_t> indices, Tensor x) const {
  for_each_chunk(indices,
                 [&](auto some, std::int64_t first) { all_.read(some, x.rows(first, std::ssize(some))); });
}

void Subset::read_targets(std::span<const std::int64_t> indices, Tensor values) const {
  for_each_chunk(indices, [&](auto some, std::int64_t first) {
    all_.read_targets(some, values.rows(first, std::ssize(some)));
  });
}

void Subset::read_labels(std::span<const std::int64_t> indices, std::span<std::int32_t> labels) const {
  const std::size_t each = info().labels_per_sample();
  for_each_chunk(indices, [&](auto some, std::int64_t first) {
    all_.read_labels(some, labels.subspan(first * each, some.size() * each));
  });
}

}  // namespace trainer
