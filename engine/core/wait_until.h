#pragma once

#include <sched.h>
#include <time.h>

namespace trainer {

/// Returns once condition() holds. Spins while the answer is near, then yields its core, then sleeps between
/// looks. `crowded`: others need this core to make the condition true, so it yields at once.
template <class Condition>
void wait_until(const Condition& condition, bool crowded) {
  constexpr int kSpins = 4000;    // some 50 us
  constexpr int kYields = 20000;  // some 5 ms, more when others use the core
  for (int looks = crowded ? kSpins : 0; !condition(); ++looks) {
    if (looks < kSpins) {
#if defined(__x86_64__)
      __builtin_ia32_pause();
#endif
    } else if (looks < kSpins + kYields) {
      sched_yield();
    } else {
      looks = kSpins + kYields;
      const timespec nap{.tv_sec = 0, .tv_nsec = 50'000};
      nanosleep(&nap, nullptr);
    }
  }
}

}  // namespace trainer
