#include "models/training/batch.h"

#include <algorithm>

namespace trainer {

BatchRunner::BatchRunner(Session& session)
    : session_(session), workers_(static_cast<std::size_t>(session.pool().size())) {
  std::size_t sums = 1;
  for (const auto& metric : session.metrics()) sums += static_cast<std::size_t>(metric->sums());
  total_.resize(sums);
  for (Worker& worker : workers_) worker.sums.resize(sums);
}

std::span<const std::int64_t> BatchRunner::part(int worker, std::span<const std::int64_t> samples) const {
  const Communicator& data = session_.mesh().data();
  const std::int64_t workers = session_.pool().size();
  const Range range = part_of(std::ssize(samples), data.rank() * workers + worker, data.size() * workers);
  return samples.subspan(static_cast<std::size_t>(range.first), static_cast<std::size_t>(range.count()));
}

Tensor BatchRunner::fetch(int worker, const Dataset& split, std::span<const std::int64_t> mine) {
  const Tensor x = session_.network().input(worker, std::ssize(mine));
  split.read(mine, x);
  workers_[static_cast<std::size_t>(worker)].targets.read(split, mine);
  return x;
}

void BatchRunner::score(int worker, ConstTensor y, float gradient_scale) {
  Worker& self = workers_[static_cast<std::size_t>(worker)];
  const Targets& targets = self.targets.targets();
  const Tensor gradient = gradient_scale > 0 ? session_.network().output_gradient(worker) : Tensor();
  self.sums[0] += session_.loss().evaluate(y, targets, gradient_scale, gradient);
  std::size_t next = 1;
  for (const auto& metric : session_.metrics()) {
    const auto count = static_cast<std::size_t>(metric->sums());
    metric->add(y, targets, std::span(self.sums).subspan(next, count));
    next += count;
  }
}

void BatchRunner::evaluate(const Dataset& split, std::span<const std::int64_t> samples) {
  session_.pool().run([&](int worker) {
    const auto mine = part(worker, samples);
    fetch(worker, split, mine);
    const ConstTensor y = session_.network().forward(
        worker, {.mode = Mode::evaluation, .samples = mine, .batch_rows = std::ssize(samples)});
    score(worker, y, 0);
  });
}

void BatchRunner::train(std::span<const std::int64_t> samples, std::int64_t epoch, std::int64_t step,
                        const std::function<void(int, std::int64_t)>& on_ready) {
  const Data& data = session_.data();
  // The mean over the global batch, so that gradients of unequal parts are simply added.
  const float scale = 1.0f / static_cast<float>(samples.size());
  // Handed on by reference: a std::function that holds this much would allocate.
  const auto work = [&](int worker) {
    const auto begin = std::chrono::steady_clock::now();
    const auto mine = part(worker, samples);
    data.augmentation.apply(mine, epoch, fetch(worker, *data.train, mine));
    workers_[static_cast<std::size_t>(worker)].data_time += std::chrono::steady_clock::now() - begin;
    const ConstTensor y = session_.network().forward(
        worker, {.mode = Mode::training, .step = step, .samples = mine, .batch_rows = std::ssize(samples)});
    score(worker, y, scale);
    session_.network().backward(worker, [&](std::int64_t offset) { on_ready(worker, offset); });
  };
  session_.pool().run(std::ref(work));
}

std::span<const double> BatchRunner::sums() {
  std::ranges::fill(total_, 0.0);
  for (const Worker& worker : workers_)
    for (std::size_t i = 0; i < total_.size(); ++i) total_[i] += worker.sums[i];
  return total_;
}

std::chrono::nanoseconds BatchRunner::data_time() const {
  std::chrono::nanoseconds total{};
  for (const Worker& worker : workers_) total += worker.data_time;
  return total / workers_.size();
}

void BatchRunner::clear() {
  for (Worker& worker : workers_) {
    std::ranges::fill(worker.sums, 0.0);
    worker.data_time = {};
  }
}

void BatchRunner::scores(std::span<const double> sums, std::int64_t samples, Scores& scores) const {
  const auto count = static_cast<double>(samples);
  scores.samples = samples;
  scores.loss = sums[0] / count;
  scores.metrics.clear();
  std::size_t next = 1;
  for (const auto& metric : session_.metrics()) {
    const auto size = static_cast<std::size_t>(metric->sums());
    scores.metrics.push_back(metric->value(sums.subspan(next, size), count));
    next += size;
  }
}

}  // namespace trainer
