#include "datasets/row_loader.h"

#include <algorithm>

namespace trainer {
namespace {

/// Two batches, unless they are large.
std::int64_t room_for(const Shape& sample, std::int64_t own_rows) {
  constexpr std::int64_t kMostBytes = std::int64_t{256} << 20;
  const std::int64_t bytes = sample.size() * static_cast<std::int64_t>(sizeof(float));
  return std::max<std::int64_t>(1, std::min(2 * own_rows, kMostBytes / bytes));
}

}  // namespace

int read_ahead_threads(const Data& data, int workers, int idle_cores) {
  const bool streamed = data.train->is_streamed();
  if (!streamed && !data.augmentation.is_costly()) return 0;
  // More than a few for each worker could not be kept busy.
  return std::min(std::max(idle_cores, streamed ? 1 : 0), 4 * workers);
}

RowLoader::RowLoader(const Data& data, Options options)
    : data_(data),
      options_(std::move(options)),
      threads_(read_ahead_threads(data, options_.workers, options_.idle_cores)),
      steps_per_epoch_(BatchOrder(options_.order).steps_per_epoch()),
      scratch_(static_cast<std::size_t>(threads_ + options_.workers)) {
  for (std::vector<float>& scratch : scratch_)
    scratch.resize(static_cast<std::size_t>(data.augmentation.scratch()));
}

void RowLoader::prepare(std::span<const std::int64_t> samples, std::int64_t epoch, Tensor x, int who) {
  data_.train->read(samples, x);
  data_.augmentation.apply(samples, epoch, x, scratch_[static_cast<std::size_t>(who)]);
}

void RowLoader::begin(std::int64_t step) {
  epoch_ = step / steps_per_epoch_;
  if (threads_ == 0) return;
  if (!ahead_) {
    const Shape sample = data_.train->sample();
    ahead_ = std::make_unique<ReadAhead>(
        ReadAhead::Options{.order = options_.order,
                           .own_rows = options_.own_rows,
                           .end_step = options_.end_step,
                           .row_size = sample.size(),
                           .room = room_for(sample, options_.own_rows(options_.order.batch).count()),
                           .threads = threads_},
        [this, sample](std::int64_t index, std::int64_t epoch, std::span<float> row, int who) {
          prepare({&index, 1}, epoch, {row.data(), sample.with_front(1)}, who);
        });
  }
  ahead_->begin(step);
}

void RowLoader::fetch(int worker, std::int64_t first, std::span<const std::int64_t> samples, Tensor x) {
  if (ahead_)
    ahead_->fetch(first, samples, x, threads_ + worker);
  else
    prepare(samples, epoch_, x, threads_ + worker);
}

}  // namespace trainer
