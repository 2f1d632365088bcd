#include "datasets/loading/row_loader.h"

#include <algorithm>

namespace trainer {
namespace {

/// Rows to keep prefetched: two batches, unless they are large.
std::int64_t room_for(const Shape& sample, std::int64_t own_rows) {
  constexpr std::int64_t kMaxBytes = std::int64_t{256} << 20;
  const std::int64_t bytes = sample.size() * std::int64_t{sizeof(float)};
  return std::max<std::int64_t>(1, std::min(2 * own_rows, kMaxBytes / bytes));
}

}  // namespace

int read_ahead_threads(const Data& data, int workers, int idle_cores) {
  const bool streamed = data.train->info().is_streamed;
  if (!streamed && !data.augmentation.is_costly()) return 0;
  // More than a few per worker would be idle.
  return std::min(std::max(idle_cores, streamed ? 1 : 0), 4 * workers);
}

RowLoader::RowLoader(const Data& data, Options options)
    : data_(data),
      options_(std::move(options)),
      threads_(options_.reads_ahead ? read_ahead_threads(data, options_.workers, options_.idle_cores) : 0),
      steps_per_epoch_(BatchOrder(options_.order).steps_per_epoch()),
      scratch_(threads_ + options_.workers) {
  const std::int64_t partner = data.mixing.is_on() ? data.train->sample().size() : 0;
  for (std::vector<float>& scratch : scratch_) scratch.resize(partner + data.augmentation.scratch());
}

void RowLoader::read(std::span<const std::int64_t> samples, std::int64_t epoch, Tensor x,
                     std::span<float> scratch) {
  data_.train->read(samples, x);
  data_.augmentation.apply(samples, epoch, x, scratch);
}

void RowLoader::prepare(std::span<const std::int64_t> samples, std::int64_t epoch, Tensor x, int caller) {
  std::span<float> scratch = scratch_[caller];
  if (!data_.mixing.is_on()) return read(samples, epoch, x, scratch);
  const std::int64_t size = data_.train->sample().size();
  const Tensor other(scratch.data(), data_.train->sample().with_front(1));
  scratch = scratch.subspan(size);
  read(samples, epoch, x, scratch);
  for (std::size_t row = 0; row < samples.size(); ++row) {
    const Mixing::Partner partner = data_.mixing.partner(samples[row], epoch);
    read({&partner.sample, 1}, epoch, other, scratch);
    data_.mixing.mix(partner, other.data(), x.data() + static_cast<std::int64_t>(row) * size);
  }
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
        [this, sample](std::int64_t index, std::int64_t epoch, std::span<float> row, int caller) {
          prepare({&index, 1}, epoch, {row.data(), sample.with_front(1)}, caller);
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
