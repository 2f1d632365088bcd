#include "engine/parallel/link_times.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "engine/core/float_code.h"

namespace trainer {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// Seconds of `times` calls of `work` in a row, which all ranks begin together.
template <class Work>
double seconds_of(Communicator& hosts, int times, const Work& work) {
  hosts.barrier();
  const auto begin = Clock::now();
  for (int time = 0; time < times; ++time) work();
  return seconds_since(begin);
}

double median(std::span<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

/// Arithmetic of one thread, in equal portions that stay in the L1 cache.
class Portions {
 public:
  /// A portion takes `seconds` on a free core.
  explicit Portions(double seconds) {
    constexpr int kTrials = 20, kRounds = 100;
    double fastest = std::numeric_limits<double>::infinity();
    rounds_ = kRounds;
    for (int trial = 0; trial < kTrials; ++trial) {
      const auto begin = Clock::now();
      compute(1);
      fastest = std::min(fastest, seconds_since(begin));
    }
    rounds_ = std::max(1, static_cast<int>(std::lround(kRounds * seconds / std::max(fastest, 1e-9))));
  }

  /// Not inline: a portion is the same code wherever it is called.
  [[gnu::noinline]] void compute(int portions) {
    for (int round = 0; round < portions * rounds_; ++round)
      for (float& value : values_) value = 0.5F * value + 1;
    result_ = *std::ranges::max_element(values_);  // so that no compiler leaves the work out
  }

 private:
  std::array<float, 1024> values_{};
  int rounds_ = 1;
  volatile float result_ = 0;
};

/// Of [-1, 1], as parameters are before the lossless code.
std::vector<float> uniform_floats(std::int64_t count) {
  std::vector<float> values(static_cast<std::size_t>(count));
  std::uint32_t state = 1;
  for (float& value : values) {
    state = 1664525 * state + 1013904223;  // Knuth, The Art of Computer Programming, volume 2, 3.3.4
    value = static_cast<float>(static_cast<std::int32_t>(state)) * 0x1p-31F;
  }
  return values;
}

/// What the hosts send to each other.
class Messages {
 public:
  explicit Messages(Communicator& hosts)
      : hosts_(hosts),
        part_(kFloats / (hosts.size() - 1)),
        counts_(static_cast<std::size_t>(hosts.size()), part_),
        byte_counts_(counts_.size(), part_ * kFloat),
        mine_(uniform_floats(part_)),
        all_(mine_.size() * counts_.size()) {}

  void sum() { hosts_.sum(values_); }
  /// As they are.
  void gather() {
    hosts_
        .start_all_gather(std::as_bytes(std::span<const float>(mine_)),
                          std::as_writable_bytes(std::span(all_)), byte_counts_)
        ->wait();
  }
  /// In the lossless code, on links that have it.
  std::unique_ptr<Request> start_gather() {
    return hosts_.start_all_gather(std::span<const float>(mine_), std::span(all_), counts_);
  }
  /// That leave this host in a gather.
  double bytes() const { return static_cast<double>(kFloat * part_ * (hosts_.size() - 1)); }

 private:
  static constexpr std::int64_t kFloat = sizeof(float), kFloats = 1 << 19;

  Communicator& hosts_;
  std::int64_t part_;
  std::vector<std::int64_t> counts_, byte_counts_;
  std::vector<float> mine_, all_;
  std::array<double, 32> values_{};
};

}  // namespace

LinkTimes measured_link(Communicator& hosts) {
  constexpr int kSums = 100, kGathers = 5;
  Messages messages(hosts);
  messages.sum();  // connects hosts
  double of_sum = seconds_of(hosts, kSums, [&] { messages.sum(); }) / kSums;
  messages.gather();  // opens TCP's windows
  double of_gather = seconds_of(hosts, kGathers, [&] { messages.gather(); }) / kGathers;
  std::array<double, 2> idle{of_sum, of_gather};
  hosts.maximum(idle);
  of_sum = idle[0], of_gather = idle[1];

  // Between sums layers of a small network compute so many portions; while a bucket is under way they compute
  // half of its time, and wait for the rest of it.
  constexpr int kTurns = 5, kLayers = 27, kOfLayer = 40;
  constexpr double kPortion = 50e-6, kGatherSeconds = 0.09;
  Portions portions(kPortion);
  const double ratio = hosts.encodes_floats() ? kUniformCodeRatio : 1;
  const int gathers = std::max(1, static_cast<int>(kGatherSeconds / of_gather)),
            meanwhile = std::max(1, static_cast<int>(ratio * of_gather / 2 / kPortion));
  const auto of_layers = [&](const auto& between) {
    return seconds_of(hosts, kLayers,
                      [&] {
                        portions.compute(kOfLayer);
                        between();
                      }) /
           kLayers;
  };
  const auto of_gathers = [&](int computed) {
    return seconds_of(hosts, gathers,
                      [&] {
                        const auto request = messages.start_gather();
                        portions.compute(computed);
                        request->wait();
                      }) /
           gathers;
  };
  std::array<std::array<double, kTurns>, 4> seconds{};
  auto& [alone, with_sums, idle_gathers, with_gathers] = seconds;
  for (std::size_t turn = 0; turn < kTurns; ++turn) {
    alone[turn] = of_layers([] {});
    with_sums[turn] = of_layers([&] { messages.sum(); });
    idle_gathers[turn] = of_gathers(0);
    with_gathers[turn] = of_gathers(meanwhile);
  }
  for (auto& turns : seconds) hosts.maximum(turns);
  const double of_layer = median(alone), computed = of_layer * meanwhile / kOfLayer,
               on_link = median(idle_gathers), lost = median(with_gathers) - std::max(computed, on_link);
  return {
      .latency = std::max(of_sum, median(with_sums) - of_layer),
      .bandwidth = messages.bytes() / std::max(of_gather - of_sum, 1e-9),
      // Of the time in which both would have been at work, each second has so many bytes on the link.
      .overhead_per_byte = std::max(0.0, lost) / std::min(computed, on_link) * of_gather / messages.bytes()};
}

}  // namespace trainer
