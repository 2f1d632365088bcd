// Speed of the lossless code of floats, with each way that this processor has to code a block. Prints CSV:
// GB/s of floats.

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "engine/core/float_blocks.h"

namespace {

using namespace trainer;

/// As many as travel in one message.
constexpr std::size_t kBlocks = 240, kFloats = kBlocks * kFloatCodeBlock;
constexpr int kRepetitions = 2000;

std::vector<float> values_of(double zeros) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::bernoulli_distribution is_zero(zeros);
  std::vector<float> values(kFloats);
  for (float& value : values) value = is_zero(random) ? 0 : normal(random);
  return values;
}

/// Of the fastest repetition.
template <class Work>
double speed(Work work) {
  double best = std::numeric_limits<double>::max();
  for (int repetition = 0; repetition < kRepetitions; ++repetition) {
    const auto begin = std::chrono::steady_clock::now();
    work();
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  return sizeof(float) * kFloats / best / 1e9;
}

void measure(const char* name, const FloatBlocks& blocks, double zeros) {
  const std::vector<float> values = values_of(zeros);
  std::vector<float> back(kFloats);
  std::vector<std::byte> code(static_cast<std::size_t>(most_code_bytes(kFloats) + kFloatCodeSlack));
  std::byte* end = code.data();
  const double encoding = speed([&] {
    end = code.data();
    for (std::size_t i = 0; i < kFloats; i += kFloatCodeBlock) end = blocks.encode(&values[i], end);
  });
  const double decoding = speed([&] {
    const std::byte* next = code.data();
    for (std::size_t i = 0; i < kFloats; i += kFloatCodeBlock) next = blocks.decode(next, &back[i]);
  });
  if (std::memcmp(back.data(), values.data(), sizeof(float) * kFloats) != 0) std::abort();
  fmt::print("{},{:.0f} %,{:.3f},{:.1f},{:.1f}\n", name, 100 * zeros,
             static_cast<double>(end - code.data()) / (sizeof(float) * kFloats), encoding, decoding);
}

}  // namespace

int main() {
  fmt::print("code,zeros,bytes,encoding,decoding\n");
  for (const double zeros : {0.0, 0.3, 0.55, 0.9}) {
    measure("plain", plain_float_blocks, zeros);
    if (avx2_float_blocks()) measure("AVX2", *avx2_float_blocks(), zeros);
  }
}
