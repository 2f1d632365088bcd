#include "engine/parallel/link_times.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <vector>

namespace trainer {
namespace {

/// Seconds of a call of `work`, as a mean of `times` calls in a row.
template <class Work>
double seconds_of(Communicator& hosts, int times, Work work) {
  using Clock = std::chrono::steady_clock;
  work();  // connects hosts and opens TCP's windows
  hosts.barrier();
  const auto begin = Clock::now();
  for (int time = 0; time < times; ++time) work();
  return std::chrono::duration<double>(Clock::now() - begin).count() / times;
}

}  // namespace

LinkTimes measured_link(Communicator& hosts) {
  constexpr int kSums = 100, kGathers = 5;
  std::array<double, 32> values{};
  const double of_sum = seconds_of(hosts, kSums, [&] { hosts.sum(values); });

  constexpr std::int64_t kBytes = 4 << 20;  // that each host sends
  const std::int64_t part = kBytes / (hosts.size() - 1);
  const std::vector<std::int64_t> counts(static_cast<std::size_t>(hosts.size()), part);
  const std::vector<std::byte> mine(static_cast<std::size_t>(part));
  std::vector<std::byte> all(mine.size() * counts.size());
  const double of_gather =
      seconds_of(hosts, kGathers, [&] { hosts.start_all_gather(mine, all, counts)->wait(); });

  std::array<double, 2> slowest{of_sum, std::max(of_gather - of_sum, 1e-9)};
  hosts.maximum(slowest);
  return {.latency = slowest[0], .bandwidth = static_cast<double>(part * (hosts.size() - 1)) / slowest[1]};
}

}  // namespace trainer
