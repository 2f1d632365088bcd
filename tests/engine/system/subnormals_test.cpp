#include "engine/system/subnormals.h"

#include <catch2/catch.hpp>
#include <limits>
#include <thread>

namespace trainer {
namespace {

/// Volatile, so that it is computed here and now, not by the compiler.
float half_of_the_least() {
  volatile float number = std::numeric_limits<float>::min();
  number = number * 0.5F;
  return number;
}

}  // namespace

#if defined(__x86_64__) || defined(__aarch64__)
TEST_CASE("a thread that flushes subnormal numbers computes zero instead, and so does one that it starts",
          "[core]") {
  float here = 1, started = 1;
  std::thread([&] {
    flush_subnormals();
    here = half_of_the_least();
    std::thread([&] { started = half_of_the_least(); }).join();
  }).join();
  CHECK(here == 0.0F);
  CHECK(started == 0.0F);
  CHECK(half_of_the_least() > 0.0F);
}
#endif

}  // namespace trainer
