#pragma once

#include <atomic>
#include <cstdint>

namespace trainer {

/// What the main thread of a rank waits for. It writes, a watchdog reads: relaxed stores, no lock and no
/// clock, so that it costs nothing to keep.
class Heartbeat {
 public:
  /// From its construction to its end, the thread waits for other ranks. Inside another one it is only a sign
  /// of life: the outer one says better what is missing.
  class Waiting {
   public:
    /// `what` is a text that stays: "the barrier before the update"; `bucket` of the gradients, or -1.
    Waiting(Heartbeat& heartbeat, const char* what, int bucket = -1);
    ~Waiting();
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;
    /// Something came; now it is this bucket, or this rank of the world, that is missing.
    void for_bucket(int bucket);
    void for_rank(int rank);

   private:
    Heartbeat& heartbeat_;
    bool outermost_;
  };

  /// From its construction to its end, some ranks do what only their disks can hasten, and all tell one
  /// another that they live (wait_for_all). A disk has ten times the patience whenever something has moved.
  class DiskWork {
   public:
    /// `what` as above: "the writing of a checkpoint".
    DiskWork(Heartbeat& heartbeat, const char* what);
    ~DiskWork();
    DiskWork(const DiskWork&) = delete;
    DiskWork& operator=(const DiskWork&) = delete;
    void has_moved();
    /// It is this rank of the world that is not done.
    void of_rank(int rank);

   private:
    Heartbeat& heartbeat_;
  };

  /// A rank that waits this long has lost another one.
  void set_patience(double seconds) { patience_.store(seconds, std::memory_order_relaxed); }
  /// Counted from 1; 0 before the first.
  void set_step(std::int64_t step) { step_.store(step, std::memory_order_relaxed); }

  /// What a watchdog sees; its parts may be of neighbouring moments.
  struct Wait {
    std::uint64_t signs = 0;     ///< of life; the same number means that nothing has moved
    const char* what = nullptr;  ///< null: there is nothing to wait for
    int bucket = -1, rank = -1;
    double patience = 0;
  };
  struct Snapshot {
    Wait ranks, disk;
    std::int64_t step = 0;
  };
  Snapshot look() const;

 private:
  void sign() { signs_.store(signs_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed); }

  std::atomic<std::uint64_t> signs_{0};
  std::atomic<const char*> what_{nullptr};
  std::atomic<int> bucket_{-1}, rank_{-1};
  std::atomic<std::int64_t> step_{0};
  std::atomic<double> patience_{300};
  std::atomic<std::uint64_t> disk_signs_{0};
  std::atomic<const char*> disk_what_{nullptr};
  std::atomic<int> disk_rank_{-1};
};

}  // namespace trainer
