#include "datasets/loading/batch_order.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <numeric>

#include "engine/core/error.h"
#include "engine/core/random.h"

namespace trainer {

BatchOrder::BatchOrder(const Options& options) : options_(options) {
  assert(options.samples > 0 && options.batch > 0);
  if (steps_per_epoch() == 0)
    throw Error(
        ExitCode::usage,
        fmt::format("an epoch has no batch: {} training samples, batch {}, and the short batch is dropped",
                    options.samples, options.batch),
        "data.drop_last: false, or a smaller train.batch");
}

std::int64_t BatchOrder::steps_per_epoch() const {
  const bool is_short = options_.samples % options_.batch != 0;
  const std::int64_t short_batch = is_short && !options_.drop_last && !options_.streams ? 1 : 0;
  return options_.samples / options_.batch + short_batch;
}

std::span<const std::int64_t> BatchOrder::epoch(std::int64_t epoch) {
  if (options_.streams) {
    if (epoch_ < 0) fill_with_streams();
  } else if (options_.balanced != nullptr) {
    if (epoch_ < 0) group_by_class();
    if (epoch != epoch_) draw_classes(static_cast<std::uint64_t>(epoch));
  } else if (epoch_ < 0 && !options_.shuffle) {
    order_.resize(options_.samples);
    std::iota(order_.begin(), order_.end(), 0);
  } else if (epoch != epoch_ && options_.shuffle) {
    order_ = permutation(options_.samples,
                         RandomStream(options_.seed, "order of samples", static_cast<std::uint64_t>(epoch)));
  }
  epoch_ = epoch;
  return order_;
}

void BatchOrder::fill_with_streams() {
  const std::int64_t steps = steps_per_epoch();
  for (std::int64_t step = 0; step < steps; ++step)
    for (std::int64_t row = 0; row < options_.batch; ++row) order_.push_back(row * steps + step);
  for (std::int64_t rest = steps * options_.batch; rest < options_.samples; ++rest) order_.push_back(rest);
}

void BatchOrder::group_by_class() {
  classes_.resize(options_.balanced->classes());
  for (std::int64_t sample = 0; sample < options_.samples; ++sample)
    classes_[options_.balanced->label(sample)].push_back(sample);
  std::erase_if(classes_, [](const auto& samples) { return samples.empty(); });
}

void BatchOrder::draw_classes(std::uint64_t epoch) {
  const RandomStream mix(options_.seed, "balanced order", epoch);
  const auto places = permutation(options_.samples, mix);
  const auto classes = std::ssize(classes_);
  // Which classes get one sample more, if the classes do not divide the epoch.
  const auto turns = permutation(classes, RandomStream(options_.seed, "order of classes", epoch));
  order_.resize(options_.samples);
  for (std::int64_t turn = 0; turn < classes; ++turn) {
    const std::vector<std::int64_t>& samples = classes_[turns[turn]];
    const auto name = fmt::format("samples of class {}", turns[turn]);
    std::vector<std::int64_t> order;
    std::uint64_t round = 0;
    for (std::int64_t drawn = 0, place = turn; place < options_.samples; ++drawn, place += classes) {
      // All samples of the class are drawn before one of them is drawn again.
      const std::int64_t next = drawn % std::ssize(samples);
      if (next == 0)
        order = permutation(std::ssize(samples), RandomStream(options_.seed, name, epoch << 32 | round++));
      order_[places[place]] = samples[order[next]];
    }
  }
}

std::span<const std::int64_t> BatchOrder::batch(std::int64_t step) {
  assert(step >= 0);
  const auto order = epoch(step / steps_per_epoch());
  const std::int64_t first = step % steps_per_epoch() * options_.batch;
  const std::int64_t count = std::min(options_.batch, options_.samples - first);
  return order.subspan(first, count);
}

}  // namespace trainer
