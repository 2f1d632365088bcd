#include "engine/system/exit_reason.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>

namespace trainer {
namespace {

/// Pipes take this many bytes in one piece.
constexpr std::size_t kMax = 4096;

// A signal handler can reach nothing but what is static.
std::array<char, kMax> prepared;
std::atomic<std::size_t> length{0};
static_assert(std::atomic<std::size_t>::is_always_lock_free);

}  // namespace

void prepare_exit_reason(const std::string& words) {
  length = 0;
  const std::size_t count = std::min(words.size(), kMax);
  std::copy_n(words.begin(), count, prepared.begin());
  length = count;
}

void write_exit_reason() {
  const std::size_t count = length.exchange(0);
  const int error = errno;
  // An error here has no other place to go.
  if (count > 0 && ::write(STDERR_FILENO, prepared.data(), count) < 0) errno = error;
}

}  // namespace trainer
