#include "engine/system/subnormals.h"

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <cstdint>
#endif

namespace trainer {

void flush_subnormals() {
#if defined(__x86_64__)
  constexpr unsigned kResults = 0x8000, kInputs = 0x0040;
  _mm_setcsr(_mm_getcsr() | kResults | kInputs);
#elif defined(__aarch64__)
  constexpr std::uint64_t kBoth = std::uint64_t{1} << 24;
  std::uint64_t control = 0;
  asm volatile("mrs %0, fpcr" : "=r"(control));
  asm volatile("msr fpcr, %0" : : "r"(control | kBoth));
#endif
}

}  // namespace trainer
