#include "datasets/subset.h"

#include <algorithm>
#include <array>

namespace trainer {

template <class Read>
void Subset::in_pieces(std::span<const std::int64_t> indices, Tensor all, const Read& read) const {
  std::array<std::int64_t, 64> positions;  // on the stack: nothing is allocated while training steps run
  for (std::size_t first = 0; first < indices.size(); first += positions.size()) {
    const std::size_t count = std::min(positions.size(), indices.size() - first);
    for (std::size_t i = 0; i < count; ++i) positions[i] = position(indices[first + i]);
    read(std::span<const std::int64_t>(positions.data(), count),
         all.rows(static_cast<std::int64_t>(first), static_cast<std::int64_t>(count)));
  }
}

void Subset::read(std::span<const std::int64_t> indices, Tensor x) const {
  in_pieces(indices, x, [&](auto some, Tensor rows) { all_.read(some, rows); });
}

void Subset::read_targets(std::span<const std::int64_t> indices, Tensor values) const {
  in_pieces(indices, values, [&](auto some, Tensor rows) { all_.read_targets(some, rows); });
}

}  // namespace trainer
