#pragma once

#include <sched.h>
#include <time.h>

namespace trainer {

/// How often a waiting thread checks its condition before it yields, and before it sleeps.
struct Patience {
  int spins = 200;     ///< about 10 us
  int yields = 10000;  ///< about 3 ms, more if another thread uses the core
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

/// A sleep() for a condition whose change wakes no sleeper.
inline void nap() {
  const timespec time{.tv_sec = 0, .tv_nsec = 50'000};
  nanosleep(&time, nullptr);
}

/// The same for a condition whose change wakes no sleeper. `oversubscribed`: another thread needs this core
/// to make the condition true, so it yields at once.
template <class Condition>
void wait_until(const Condition& condition, bool oversubscribed) {
  wait_until(condition, oversubscribed ? Patience{.spins = 0} : Patience{}, nap);
}

/// The same with a sleep() that returns when the condition may hold. `oversubscribed`: yields at once, so
/// that other threads of this core run, and soon sleeps, so that long computations are not disturbed.
template <class Condition, class Sleep>
void wait_until(const Condition& condition, bool oversubscribed, const Sleep& sleep) {
  wait_until(condition, oversubscribed ? Patience{.spins = 0, .yields = 100} : Patience{}, sleep);
}

}  // namespace trainer
