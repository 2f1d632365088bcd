#include <cstdlib>
#include <memory>
#include <new>

#include "engine/math/kernels/kernels.h"

namespace trainer {
namespace {

struct Free {
  void operator()(float* floats) const { std::free(floats); }
};

struct ThreadMemory {
  std::unique_ptr<float, Free> floats;
  std::int64_t size = 0;
};

}  // namespace

float* product_memory(std::int64_t floats) {
  constexpr std::int64_t kPage = 4096;
  thread_local ThreadMemory memory;
  if (floats > memory.size) {
    const std::int64_t bytes =
        (floats * static_cast<std::int64_t>(sizeof(float)) + kPage - 1) / kPage * kPage;
    memory.floats.reset(static_cast<float*>(std::aligned_alloc(kPage, static_cast<std::size_t>(bytes))));
    memory.size = memory.floats ? floats : 0;
    if (!memory.floats) throw std::bad_alloc();
  }
  return memory.floats.get();
}

}  // namespace trainer
