#include <catch2/catch.hpp>
#include <cmath>

#include "engine/core/error.h"
#include "engine/core/random.h"
#include "engine/math/engine.h"
#include "engine/math/gemm.h"
#include "tests/engine/math/asked_engine.h"
#include "tests/engine/math/portable_bits.h"
#include "tests/engine/math/values.h"

namespace trainer {
namespace {

class Portable {
 public:
  Portable() {
    choose_engine(Engine::automatic);  // not what an earlier test has left
    choose_portable(true);
  }
  ~Portable() { choose_portable(false); }
};

}  // namespace

TEST_CASE("portable kernels give the same bits on every processor and by every compiler", "[portable]") {
  if (openblas_is_asked()) return;
  const Portable portable;
  CHECK(rounding_text() == "native (portable)");
  CHECK(portable_text() == kRecordedBits);
}

TEST_CASE("OpenBLAS is never portable", "[portable]") {
  if (!openblas_is_asked()) return;
  CHECK_THROWS_AS(choose_portable(true), Error);
  CHECK(engine_in_use() == Engine::openblas);
}

TEST_CASE("portable products round each multiply-add once", "[portable]") {
  if (openblas_is_asked()) return;
  const Portable portable;
  // Cancellation, ties, subnormal and infinite results show a second rounding.
  const RandomStream random(1, "portable products");
  std::size_t wrong = 0;
  for (std::uint64_t i = 0; i < 20000; ++i) {
    const auto value = [&](std::uint64_t which, int least, int count) {
      const int exponent =
          least + static_cast<int>(random.bits(8 * i + 2 * which) % static_cast<unsigned>(count));
      const float mantissa =
          1 + static_cast<float>(random.bits(8 * i + 2 * which + 1) >> (i % 3 == 0 ? 20 : 9)) *
                  (i % 3 == 0 ? 0x1p-12F : 0x1p-23F);
      return std::ldexp(random.bits(8 * i + 7) >> which & 1 ? -mantissa : mantissa, exponent);
    };
    const bool small = i % 5 == 0;
    const float a = value(0, small ? -75 : -8, 16), b = value(1, small ? -75 : -8, 16);
    const float c = i % 2 == 0 ? value(2, small ? -149 : -30, 40) : -a * b;
    float sum = c;
    gemm(Transpose::no, Transpose::no, 1, 1, 1, &a, 1, &b, 1, 1, &sum, 1);
    const float expected = std::fma(a, b, c);
    wrong += same_bits(&sum, &expected, 1) ? 0 : 1;
  }
  CHECK(wrong == 0);
}

}  // namespace trainer
