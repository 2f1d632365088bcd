#include "models/exporting/c/buffers.h"

#include <algorithm>

namespace trainer {

std::int64_t Buffers::take(std::int64_t size) {
  std::int64_t offset = 0;
  auto next = live_.begin();
  for (; next != live_.end() && next->offset - offset < size; ++next) offset = next->offset + next->size;
  live_.insert(next, {offset, size});
  end_ = std::max(end_, offset + size);
  return offset;
}

void Buffers::free(std::int64_t offset) {
  std::erase_if(live_, [&](const Live& buffer) { return buffer.offset == offset; });
}

}  // namespace trainer
