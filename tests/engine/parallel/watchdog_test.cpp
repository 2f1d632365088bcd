#include "engine/parallel/watchdog.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <mutex>
#include <optional>
#include <thread>

namespace trainer {
namespace {

using namespace std::chrono_literals;

/// A watchdog with little patience, and what it has barked.
struct Watched {
  explicit Watched(double patience) { heartbeat.set_patience(patience); }
  std::string barked() {
    const std::lock_guard lock(mutex);
    return message;
  }
  /// Waits for a bark, but not for ever.
  std::string next_bark() {
    for (int i = 0; i < 500 && barked().empty(); ++i) std::this_thread::sleep_for(10ms);
    return barked();
  }

  Heartbeat heartbeat;
  std::mutex mutex;
  std::string message;
  Watchdog watchdog{heartbeat, "rank 1 on a", [this](const std::string& text) {
                      const std::lock_guard lock(mutex);
                      message = text;
                    }};
};

}  // namespace

TEST_CASE("a rank that waits too long is reported, with what it waits for", "[watchdog]") {
  Watched watched(0.1);
  watched.heartbeat.set_step(12);
  Heartbeat::Waiting waiting(watched.heartbeat, "the sum", 3);
  waiting.for_rank(2);
  CHECK(watched.next_bark() ==
        "error: rank 1 on a has waited 0.1 s for rank 2 at the sum of bucket 3, in step 12");
}

TEST_CASE("before the first step, and without a bucket or a rank, less is reported", "[watchdog]") {
  Watched watched(0.05);
  const Heartbeat::Waiting waiting(watched.heartbeat, "MPI_Init");
  CHECK(watched.next_bark() == "error: rank 1 on a has waited 0.05 s for MPI_Init, before the first step");
}

TEST_CASE("a rank that computes for long does not wait", "[watchdog]") {
  Watched watched(0.05);
  { const Heartbeat::Waiting waiting(watched.heartbeat, "the sum"); }
  std::this_thread::sleep_for(300ms);
  CHECK(watched.barked().empty());
}

TEST_CASE("many short waits are not a long one, and neither are inner ones that continue", "[watchdog]") {
  Watched watched(0.4);
  const bool nested = GENERATE(false, true);
  std::optional<Heartbeat::Waiting> outer;
  if (nested) outer.emplace(watched.heartbeat, "the sums");
  for (int i = 0; i < 100; ++i) {
    const Heartbeat::Waiting waiting(watched.heartbeat, "the sum");
    std::this_thread::sleep_for(10ms);
  }
  CHECK(watched.barked().empty());
}

TEST_CASE("a rank that does not answer while a disk works is reported as soon as elsewhere", "[watchdog]") {
  Watched watched(0.1);
  const Heartbeat::DiskWork work(watched.heartbeat, "the checkpoint");
  const Heartbeat::Waiting waiting(watched.heartbeat, "messages");
  CHECK(watched.next_bark() == "error: rank 1 on a has waited 0.1 s for messages, before the first step");
}

TEST_CASE("a disk with progress has no limit; one without progress has ten times the patience",
          "[watchdog]") {
  Watched watched(0.05);
  Heartbeat::DiskWork work(watched.heartbeat, "the checkpoint");
  work.of_rank(2);
  for (int i = 0; i < 90; ++i) {
    const Heartbeat::Waiting waiting(watched.heartbeat, "messages");
    if (i % 10 == 0) work.add_progress();
    std::this_thread::sleep_for(10ms);
  }
  CHECK(watched.barked().empty());
  CHECK(watched.next_bark() ==
        "error: rank 1 on a has waited 0.5 s for rank 2 at the checkpoint, before the first step");
}

TEST_CASE("the end of a watchdog does not take as long as its pauses", "[watchdog]") {
  const auto start = std::chrono::steady_clock::now();
  { Watched watched(1000); }
  CHECK(std::chrono::steady_clock::now() - start < 500ms);
}

}  // namespace trainer
