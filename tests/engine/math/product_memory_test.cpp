#include <pthread.h>

#include <catch2/catch.hpp>
#include <cstdint>
#include <thread>

#include "engine/math/kernels/kernels.h"

using namespace trainer;

TEST_CASE("the memory of products is kept, grows, and is another one in each thread", "[products]") {
  float* const first = product_memory(1000);
  CHECK(reinterpret_cast<std::uintptr_t>(first) % 64 == 0);
  CHECK(product_memory(10) == first);
  float* const larger = product_memory(1 << 20);
  larger[(1 << 20) - 1] = 1.0f;
  float* other = nullptr;
  std::thread([&] { other = product_memory(10); }).join();
  CHECK(other != larger);
  CHECK(product_memory(1) == larger);
}

TEST_CASE("a new thread books less than 256 KiB for the kernels", "[products]") {
  // The C library zeros the thread-local variables of the program on the stack of each new thread.
  std::uintptr_t top = 0, frame = 0;
  std::thread([&] {
    pthread_attr_t attributes;
    pthread_getattr_np(pthread_self(), &attributes);
    void* lowest = nullptr;
    std::size_t size = 0;
    pthread_attr_getstack(&attributes, &lowest, &size);
    pthread_attr_destroy(&attributes);
    top = reinterpret_cast<std::uintptr_t>(lowest) + size;
    frame = reinterpret_cast<std::uintptr_t>(&size);
  }).join();
  CHECK(top - frame < 256 << 10);
}
