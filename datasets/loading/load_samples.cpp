#include <algorithm>
#include <bit>
#include <cstring>
#include <exception>

#include "datasets/loading/data.h"
#include "engine/math/checksum.h"
#include "engine/parallel/wait_for_all.h"

namespace trainer {
namespace {

/// Means, then deviations, of so many channels.
void write_statistics(const ChannelStatistics& statistics, float* to) {
  std::ranges::copy(statistics.mean, to);
  std::ranges::copy(statistics.deviation, to + statistics.mean.size());
}

ChannelStatistics read_statistics(const float* from, std::int64_t channels) {
  return {{from, from + channels}, {from + channels, from + 2 * channels}};
}

/// The layout of the shared memory: the samples of each source, their checksum, then mean and deviation of
/// each channel, of samples and of targets.
class Storage {
 public:
  explicit Storage(const Data& data) : data_(data) {
    for (const Dataset* source : data.sources) bytes_ += rounded(source->stored_bytes());
    samples_ = bytes_;
    if (samples_ > 0) bytes_ += rounded(sizeof(std::uint64_t));
    statistics_ = bytes_;
    if (!data.normalised.empty() && data.statistics.mean.empty())
      channels_ = channel_count(data.train->sample());
    if (!data.scaled.empty() && data.target_statistics.mean.empty())
      target_channels_ = channel_count(data.train->target());
    bytes_ += rounded(2 * (channels_ + target_channels_) * static_cast<std::int64_t>(sizeof(float)));
  }

  std::int64_t bytes() const { return bytes_; }

  void fill(std::span<std::byte> memory) const {
    for_each_source(memory, [](Dataset& source, std::span<std::uint8_t> part) { source.fill(part); });
    if (samples_ > 0 && std::endian::native == std::endian::little) {
      const std::uint64_t sum =
          trainer::checksum({reinterpret_cast<const float*>(memory.data()), samples_ / sizeof(float)});
      std::memcpy(memory.data() + samples_, &sum, sizeof sum);
    }
    if (channels_ + target_channels_ == 0) return;
    attach(memory);
    float* const shared = statistics_in(memory);
    if (channels_ > 0) write_statistics(channel_statistics(data_.normalised.front()->raw()), shared);
    if (target_channels_ > 0)
      write_statistics(target_statistics(data_.scaled.front()->raw()), shared + 2 * channels_);
  }

  void attach(std::span<std::byte> memory) const {
    for_each_source(memory, [](Dataset& source, std::span<std::uint8_t> part) { source.attach(part); });
    if (data_.folds) data_.folds->divide();
  }
  std::uint64_t checksum(std::span<const std::byte> memory) const {
    std::uint64_t sum = 0;
    if (samples_ > 0) std::memcpy(&sum, memory.data() + samples_, sizeof sum);
    return sum;
  }
  /// Of the training samples; empty if they were known or are not needed.
  ChannelStatistics statistics(std::span<std::byte> memory) const {
    return read_statistics(statistics_in(memory), channels_);
  }
  ChannelStatistics targets(std::span<std::byte> memory) const {
    return read_statistics(statistics_in(memory) + 2 * channels_, target_channels_);
  }

 private:
  static std::int64_t rounded(std::int64_t bytes) { return (bytes + 63) / 64 * 64; }
  void for_each_source(std::span<std::byte> memory, const auto& visit) const {
    std::size_t at = 0;
    for (Dataset* source : data_.sources) {
      const std::size_t size = source->stored_bytes();
      visit(*source, {reinterpret_cast<std::uint8_t*>(memory.data() + at), size});
      at += rounded(size);
    }
  }
  float* statistics_in(std::span<std::byte> memory) const {
    return reinterpret_cast<float*>(memory.data() + statistics_);
  }

  const Data& data_;
  std::int64_t bytes_ = 0, samples_ = 0, statistics_ = 0, channels_ = 0, target_channels_ = 0;
};

}  // namespace

void load_samples(Data& data, Communicator& host) {
  const Storage storage(data);
  if (storage.bytes() == 0) {  // nothing is read: the data is absent, or streamed
    if (data.folds) data.folds->divide();
    return;
  }
  data.memory = host.shared(storage.bytes());
  const bool is_shared = data.memory != nullptr;
  std::exception_ptr problem;
  const auto read = [&] {
    if (!is_shared) data.memory = solo()->shared(storage.bytes());
    storage.fill(data.memory->bytes());
  };
  try {
    const bool reads = !is_shared || host.rank() == 0;
    with_disk(host, "the reading of samples", reads, read);
  } catch (...) {
    problem = std::current_exception();
  }
  float failures = problem ? 1 : 0;
  host.sum({&failures, 1});
  if (problem) std::rethrow_exception(problem);
  if (is_shared && failures > 0)
    throw Error(ExitCode::data, "another rank of this host could not read the data");
  storage.attach(data.memory->bytes());
  data.counted =
      std::make_unique<CountedPages>(MemoryKind::samples, data.memory->bytes(), is_shared ? host.size() : 1);
  data.checksum = storage.checksum(data.memory->bytes());
  if (const ChannelStatistics statistics = storage.statistics(data.memory->bytes());
      !statistics.mean.empty()) {
    for (Normalised* split : data.normalised) split->use(statistics);
    data.statistics = statistics;
  }
  if (data.scaled.empty()) return;  // targets of given samples are scaled by the statistics of training
  if (data.target_statistics.mean.empty()) data.target_statistics = storage.targets(data.memory->bytes());
  for (ScaledTargets* split : data.scaled) split->use(data.target_statistics);
}

}  // namespace trainer
