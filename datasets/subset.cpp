#include "datasets/subset.h"

#include <algorithm>
#include <array>

namespace trainer {

void Subset::read(std::span<const std::int64_t> indices, Tensor x) const {
  std::array<std::int64_t, 64> positions;  // on the stack: nothing is allocated while training steps run
  for (std::size_t first = 0; first < indices.size(); first += positions.size()) {
    const std::size_t count = std::min(positions.size(), indices.size() - first);
    for (std::size_t i = 0; i < count; ++i) positions[i] = position(indices[first + i]);
    all_.read({positions.data(), count},
              x.rows(static_cast<std::int64_t>(first), static_cast<std::int64_t>(count)));
  }
}

}  // namespace trainer
