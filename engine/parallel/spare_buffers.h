#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace trainer {

/// Takes a buffer of `size` elements from those that earlier messages left, so that repeated steps allocate
/// nothing: the smallest that has room, else the largest, which gets new memory.
template <class Buffer>
Buffer take_spare(std::vector<Buffer>& spare, std::size_t size) {
  Buffer taken;
  if (!spare.empty()) {
    const auto is_better = [size](const Buffer& one, const Buffer& other) {
      const bool fits = one.capacity() >= size;
      if (fits != (other.capacity() >= size)) return fits;
      return fits ? one.capacity() < other.capacity() : one.capacity() > other.capacity();
    };
    const auto best = std::ranges::min_element(spare, is_better);
    taken = std::move(*best);
    spare.erase(best);
  }
  if (taken.capacity() < size) taken = Buffer();  // the old memory goes before the new one comes
  taken.resize(size);
  return taken;
}

}  // namespace trainer
