#include "engine/system/subnormals.h"

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <cstdint>
#endif

namespace trainer {
namespace {

void set_flushing([[maybe_unused]] bool flushes) {
#if defined(__x86_64__)
  constexpr unsigned kResults = 0x8000, kInputs = 0x0040, kBoth = kResults | kInputs;
  _mm_setcsr(flushes ? _mm_getcsr() | kBoth : _mm_getcsr() & ~kBoth);
#elif defined(__aarch64__)
  constexpr std::uint64_t kBoth = std::uint64_t{1} << 24;
  std::uint64_t control = 0;
  asm volatile("mrs %0, fpcr" : "=r"(control));
  asm volatile("msr fpcr, %0" : : "r"(flushes ? control | kBoth : control & ~kBoth));
#endif
}

}  // namespace

void flush_subnormals() { set_flushing(true); }

void keep_subnormals() { set_flushing(false); }

}  // namespace trainer
