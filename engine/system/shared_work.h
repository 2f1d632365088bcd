#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>

namespace trainer {

/// How many waiting threads of the pool the caller can share work with: its part of them, where other
/// threads compute, too. 0 outside ThreadPool::run() and inside share().
int waiting_helpers();

/// Calls part(0), ..., part(parts - 1) once each, on this thread and on waiting ones of its pool, and returns
/// when all have returned. Any thread may take any part. Rethrows the exception of a part.
template <class Part>
void share(int parts, const Part& part);

/// Parts of work that threads of a pool offer to those that wait.
class SharedWork {
 public:
  explicit SharedWork(int threads);

  /// While it lives, its thread is this worker of the pool.
  class Membership {
   public:
    Membership(SharedWork& work, int worker);
    ~Membership();
    Membership(const Membership&) = delete;
    Membership& operator=(const Membership&) = delete;
  };

  /// While it lives, its thread waits, and calls help() again and again.
  class Waiting {
   public:
    explicit Waiting(SharedWork& work) : work_(work) {
      work_.waiting_.fetch_add(1, std::memory_order_relaxed);
    }
    ~Waiting() { work_.waiting_.fetch_sub(1, std::memory_order_relaxed); }
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;

   private:
    SharedWork& work_;
  };

  /// Takes and computes a part that another thread offers; false if there is none.
  bool help() { return offers_.load(std::memory_order_relaxed) > 0 && take_any(); }

 private:
  friend int waiting_helpers();
  friend void share_parts(int parts, const std::function<void(int)>& part);

  /// Of one thread at a time.
  struct alignas(64) Offer {
    /// round << 32 | parts << 16 | the next part: who raises it from below `parts` has this part of this
    /// round, for which the other fields then hold.
    std::atomic<std::uint64_t> ticket{0};
    std::atomic<const std::function<void(int)>*> part{nullptr};
    std::atomic<int> unfinished{0};
    std::atomic<bool> failed{false};
    std::exception_ptr error;  ///< of the first part that failed
  };

  bool take_any();
  static bool take(Offer& offer);
  int helpers() const;
  void offer(Offer& offer, int parts, const std::function<void(int)>& part);

  int threads_;
  std::unique_ptr<Offer[]> of_worker_;
  alignas(64) std::atomic<int> offers_{0};
  alignas(64) std::atomic<int> waiting_{0};
};

/// share() of a function.
void share_parts(int parts, const std::function<void(int)>& part);

template <class Part>
void share(int parts, const Part& part) {
  share_parts(parts, std::cref(part));  // a reference, since a copy may need memory
}

}  // namespace trainer
