#pragma once

#include <sched.h>
#include <time.h>

namespace trainer {

/// When a waiting thread does what, in looks at its condition.
struct Patience {
  int spins = 200;     ///< some 10 us: the answer is near
  int yields = 10000;  ///< some 3 ms, more when others use the core: the scheduler may have put both on one
};

/// Returns once condition() holds: spins, then yields its core, then calls sleep() between looks.
template <class Condition, class Sleep>
void wait_until(const Condition& condition, const Patience& patience, const Sleep& sleep) {
  const int awake = patience.spins + patience.yields;
  for (int looks = 0; !condition(); ++looks) {
    if (looks < patience.spins) {
#if defined(__x86_64__)
      __builtin_ia32_pause();
#endif
    } else if (looks < awake) {
      sched_yield();
    } else {
      looks = awake;
      sleep();
    }
  }
}

/// The same where nobody wakes the sleeper. `crowded`: others need this core to make the condition true, so
/// it yields at once.
template <class Condition>
void wait_until(const Condition& condition, bool crowded) {
  wait_until(condition, crowded ? Patience{.spins = 0} : Patience{}, [] {
    const timespec nap{.tv_sec = 0, .tv_nsec = 50'000};
    nanosleep(&nap, nullptr);
  });
}

/// The same where sleep() ends when the condition may hold. `crowded`: yields, so that those on this core
/// come next, and soon sleeps, so that those who compute for long are not disturbed.
template <class Condition, class Sleep>
void wait_until(const Condition& condition, bool crowded, const Sleep& sleep) {
  wait_until(condition, crowded ? Patience{.spins = 0, .yields = 100} : Patience{}, sleep);
}

}  // namespace trainer
