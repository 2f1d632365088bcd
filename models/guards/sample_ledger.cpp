#include "models/guards/sample_ledger.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "engine/math/checksum.h"

namespace trainer {
namespace {

std::uint64_t keys_of(std::span<const std::int64_t> samples) {
  std::uint64_t keys = 0;
  for (const std::int64_t sample : samples) keys += mixed(static_cast<std::uint64_t>(sample) + 1);
  return keys;
}

}  // namespace

void SampleLedger::begin(std::int64_t step) {
  std::ranges::fill(workers_, Worker{});
  first_step_ = step;
}

void SampleLedger::add(int worker, std::span<const std::int64_t> samples) {
  Worker& mine = workers_[static_cast<std::size_t>(worker)];
  mine.count += std::ssize(samples);
  mine.keys += keys_of(samples);
}

void SampleLedger::verify(BatchOrder& order, std::int64_t step,
                          const std::function<void(std::span<double>)>& all_reduce) {
  Worker used;
  for (const Worker& worker : workers_) {
    used.count += worker.count;
    used.keys += worker.keys;
  }
  // Halves of a key, because sums of doubles are exact only so far.
  constexpr std::uint64_t kHalf = std::uint64_t{1} << 32;
  const std::uint64_t low = used.keys % kHalf, high = used.keys / kHalf;
  std::array<double, 3> totals{static_cast<double>(used.count), static_cast<double>(low),
                               static_cast<double>(high)};
  all_reduce(totals);
  used.count = static_cast<std::int64_t>(totals[0]);
  used.keys = static_cast<std::uint64_t>(totals[1]) + static_cast<std::uint64_t>(totals[2]) * kHalf;

  // Where each sample is used once, the expectation depends on the order only for those left out: the ones
  // before begin(), the ones to come, and a short last batch that is dropped.
  const std::int64_t epoch = (step - 1) / order.steps_per_epoch();
  const auto samples = order.epoch(epoch);
  const std::int64_t size = std::ssize(samples), first_of_epoch = epoch * order.steps_per_epoch();
  const std::int64_t first = std::min((first_step_ - first_of_epoch) * order.batch_size(), size);
  const std::int64_t last = std::min((step - first_of_epoch) * order.batch_size(), size);
  std::uint64_t expected = 0;
  if (order.has_each_sample_once())
    for (std::int64_t sample = 0; sample < size; ++sample)
      expected += mixed(static_cast<std::uint64_t>(sample) + 1);
  else
    expected = keys_of(samples);
  expected -= keys_of(samples.first(static_cast<std::size_t>(first))) +
              keys_of(samples.subspan(static_cast<std::size_t>(last)));
  if (used.count == last - first && used.keys == expected) return;
  throw std::logic_error(
      fmt::format("epoch {} did not use the samples of its order: {} samples were taken where {} were due{}",
                  epoch + 1, used.count, last - first, used.count == last - first ? ", and not those" : ""));
}

}  // namespace trainer
