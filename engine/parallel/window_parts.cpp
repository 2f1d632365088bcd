#include "engine/parallel/window_parts.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <bit>
#include <limits>

namespace trainer {

std::int32_t* SharedCounter::low_half() {
  return reinterpret_cast<std::int32_t*>(&value) + (std::endian::native == std::endian::little ? 0 : 1);
}

void SharedCounter::sleep_below(std::int64_t count) {
  std::atomic_ref(sleepers).fetch_add(1);
  // Should the count move in between, the system finds another half and returns at once.
  if (const std::int64_t seen = std::atomic_ref(value).load(); seen < count) {
    const timespec longest{.tv_sec = 0, .tv_nsec = 2'000'000};
    syscall(SYS_futex, low_half(), FUTEX_WAIT, static_cast<std::int32_t>(seen), &longest, nullptr, 0);
  }
  std::atomic_ref(sleepers).fetch_sub(1);
}

void SharedCounter::wake() {
  syscall(SYS_futex, low_half(), FUTEX_WAKE, std::numeric_limits<int>::max(), nullptr, nullptr, 0);
}

}  // namespace trainer
