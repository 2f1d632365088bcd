#pragma once

#include <atomic>
#include <cstdint>

namespace trainer {

/// The sign of life of a rank: what its main thread waits for. The thread writes, a watchdog reads, by
/// relaxed stores without a lock or a clock, so it costs next to nothing.
class Heartbeat {
 public:
  /// While it lives, the thread waits for other ranks. Inside another one it counts as a sign of life only:
  /// the outer one describes better what is missing.
  class Waiting {
   public:
    /// `what`: a text of static lifetime, "the barrier before the update"; `bucket`: of gradients, or -1.
    Waiting(Heartbeat& heartbeat, const char* what, int bucket = -1);
    ~Waiting();
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;
    /// A sign of life; from now on this bucket, or this rank of the world, is missing.
    void for_bucket(int bucket);
    void for_rank(int rank);

   private:
    Heartbeat& heartbeat_;
    bool outermost_;
  };

  /// While it lives, some ranks read or write disks, and all ranks exchange signs of life (wait_for_all). A
  /// disk gets ten times the patience from its last progress on.
  class DiskWork {
   public:
    /// `what` as above: "the writing of a checkpoint".
    DiskWork(Heartbeat& heartbeat, const char* what);
    ~DiskWork();
    DiskWork(const DiskWork&) = delete;
    DiskWork& operator=(const DiskWork&) = delete;
    void add_progress();
    /// This rank of the world is not done.
    void of_rank(int rank);

   private:
    Heartbeat& heartbeat_;
  };

  /// A rank that waits this long, in seconds, has lost another one.
  void set_patience(double seconds) { patience_.store(seconds, std::memory_order_relaxed); }
  /// Counted from 1; 0 before the first.
  void set_step(std::int64_t step) { step_.store(step, std::memory_order_relaxed); }

  /// The watchdog's view; its parts may be of slightly different moments.
  struct Wait {
    std::uint64_t signs = 0;     ///< of life, counted
    const char* what = nullptr;  ///< null: the rank does not wait
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
