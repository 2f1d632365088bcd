#include "engine/system/exit_reason.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>

namespace trainer {
namespace {

/// A text for standard error that is written at most once.
class PreparedText {
 public:
  void prepare(const std::string& words) {
    length_ = 0;
    const std::size_t count = std::min(words.size(), kMax);
    std::copy_n(words.begin(), count, text_.begin());
    length_ = count;
  }

  void write() {
    const std::size_t count = length_.exchange(0);
    const int error = errno;
    // An error here has no other place to go.
    if (count > 0 && ::write(STDERR_FILENO, text_.data(), count) < 0) errno = error;
  }

 private:
  /// Pipes take this many bytes in one piece.
  static constexpr std::size_t kMax = 4096;
  static_assert(std::atomic<std::size_t>::is_always_lock_free);

  std::array<char, kMax> text_;
  std::atomic<std::size_t> length_{0};
};

// A signal handler can reach nothing but what is static.
PreparedText reason, loss;

}  // namespace

void prepare_exit_reason(const std::string& words) { reason.prepare(words); }

void write_exit_reason() { reason.write(); }

void prepare_loss_report(const std::string& words) { loss.prepare(words); }

void write_loss_report() { loss.write(); }

}  // namespace trainer
