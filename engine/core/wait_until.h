#pragma once

#include <sched.h>
#include <time.h>

namespace trainer {

/// Returns once condition() holds. Spins while the answer is near, then yields its core, then sleeps between
/// looks. `crowded`: others need this core to make the condition true, so it yields at once.
template <class Condition>
void wait_until(const Condition& condition, bool crowded) {
  // A yield costs 0.3 us where nobody else wants the core, and the scheduler may have put both threads on
  // one.
  constexpr int kSpins = 200;     // some 10 us
  constexpr int kYields = 10000;  // some 3 ms, more when others use the core
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
