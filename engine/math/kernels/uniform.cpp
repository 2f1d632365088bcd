// Philox (see engine/core/random.h) in integers: the same words on every CPU.

#include "engine/math/kernels/kernels.h"
#include "engine/math/kernels/loops.h"

namespace trainer::KERNEL_NAMESPACE {
namespace {

constexpr int kAtOnce = 32;  // counters

/// The words of counters index, index + 1, ... lie behind each other, word by word.
void philox(std::uint64_t index, std::uint64_t moment, std::uint64_t key, std::uint32_t (*words)[kAtOnce]) {
  const auto low = [](std::uint64_t word) { return static_cast<std::uint32_t>(word); };
  const auto high = [](std::uint64_t word) { return static_cast<std::uint32_t>(word >> 32); };
  std::uint32_t* const a = words[0];
  std::uint32_t* const b = words[1];
  std::uint32_t* const c = words[2];
  std::uint32_t* const d = words[3];
  for (int i = 0; i < kAtOnce; ++i) {
    const std::uint64_t counter = index + static_cast<std::uint64_t>(i);
    a[i] = low(counter);
    b[i] = high(counter);
    c[i] = low(moment);
    d[i] = high(moment);
  }
  std::uint32_t key0 = low(key), key1 = high(key);
  for (int round = 0; round < 10; ++round, key0 += 0x9E3779B9, key1 += 0xBB67AE85)
    for_each(kAtOnce, [=](std::int64_t i) {
      const std::uint64_t first = std::uint64_t{0xD2511F53} * a[i], second = std::uint64_t{0xCD9E8D57} * c[i];
      a[i] = high(second) ^ b[i] ^ key0;
      b[i] = low(second);
      c[i] = high(first) ^ d[i] ^ key1;
      d[i] = low(first);
    });
}

void uniform(std::uint64_t index, std::uint64_t moment, std::uint64_t key, std::int64_t counters,
             float* values) {
  alignas(64) std::uint32_t words[4][kAtOnce];
  for (; counters > 0; counters -= kAtOnce, index += kAtOnce, values += 4 * kAtOnce) {
    philox(index, moment, key, words);
    const std::int64_t here = counters < kAtOnce ? counters : kAtOnce;
    for (std::int64_t i = 0; i < here; ++i)
      for (int word = 0; word < 4; ++word)
        values[4 * i + word] =
            static_cast<float>(static_cast<std::int32_t>(words[word][i] >> 8)) * (1.0f / (1 << 24));
  }
}

}  // namespace

extern const RandomKernels random_kernels;
const RandomKernels random_kernels = {uniform};

}  // namespace trainer::KERNEL_NAMESPACE
