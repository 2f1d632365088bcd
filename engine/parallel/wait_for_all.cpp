#include "engine/parallel/wait_for_all.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <exception>
#include <thread>

namespace trainer {

void wait_for_all(Communicator& group, const char* what, const std::function<bool()>& is_done,
                  const std::function<int()>& progress) {
  using namespace std::chrono_literals;
  using Clock = std::chrono::steady_clock;
  constexpr int kExact = 1 << 24;  // floats count so far
  constexpr Clock::duration kShortest = 50us, kLongest = 50ms;
  Heartbeat::DiskWork work(group.heartbeat(), what);
  const auto ranks = static_cast<std::size_t>(group.size());
  const std::vector<std::int64_t> counts(ranks, 2);
  std::vector<float> seen(2 * ranks), now(2 * ranks);
  const auto begun = Clock::now();
  while (true) {
    const std::array mine{is_done() ? 1.0F : 0.0F, static_cast<float>(progress() % kExact)};
    {
      const Heartbeat::Waiting waiting(group.heartbeat(), what);
      group.all_gather(mine, now, counts);
    }
    std::size_t late = 0;
    while (late < ranks && now[2 * late] == 1) ++late;
    if (late == ranks) return;
    if (now != seen) work.add_progress();
    seen = now;
    work.of_rank(group.world_rank(static_cast<int>(late)));
    // The end is seen at most an eighth later than it was.
    std::this_thread::sleep_for(std::clamp((Clock::now() - begun) / 8, kShortest, kLongest));
  }
}

void with_disk(Communicator& group, const char* what, bool mine, const std::function<void()>& work) {
  if (group.size() == 1) return mine ? work() : void();
  std::exception_ptr problem;
  std::atomic<bool> is_done{!mine};
  std::jthread thread;
  if (mine)
    thread = std::jthread([&] {
      try {
        work();
      } catch (...) {
        problem = std::current_exception();
      }
      is_done = true;
    });
  wait_for_all(group, what, [&] { return is_done.load(); });
  if (thread.joinable()) thread.join();
  if (problem) std::rethrow_exception(problem);
}

}  // namespace trainer
