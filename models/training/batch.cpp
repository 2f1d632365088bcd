#include "models/training/batch.h"

#include <algorithm>

#include "models/losses/mixed_loss.h"

namespace trainer {

BatchRunner::BatchRunner(Session& session)
    : session_(session),
      workers_(static_cast<std::size_t>(session.pool().size())),
      ledger_(session.pool().size()) {
  for (const auto& metric : session.metrics()) kinds_ += static_cast<std::size_t>(metric->sums());
  const BatchBlocks& blocks = session.blocks();
  total_.resize(kinds_ * (blocks.exact ? static_cast<std::size_t>(blocks.count) : 1));
  for (int worker = 0; worker < session.pool().size(); ++worker) {
    Worker& self = workers_[static_cast<std::size_t>(worker)];
    self.sums.resize(kinds_ * static_cast<std::size_t>(blocks_of(worker).count()));
    if (session.data().mixup.is_on())
      self.mixed_gradient.resize(static_cast<std::size_t>(session.network().output().size()));
  }
}

Range BatchRunner::blocks_of(int worker) const {
  return session_.blocks().of_worker(session_.mesh().data().rank(), worker);
}

std::span<const std::int64_t> BatchRunner::part(int worker, std::span<const std::int64_t> samples) const {
  const Range rows = session_.blocks().rows(blocks_of(worker), std::ssize(samples));
  return samples.subspan(static_cast<std::size_t>(rows.first), static_cast<std::size_t>(rows.count()));
}

Range BatchRunner::own_rows(std::int64_t batch_rows) const {
  return session_.blocks().rows(session_.blocks().of_rank(session_.mesh().data().rank()), batch_rows);
}

void BatchRunner::score(int worker, std::int64_t batch_rows, ConstTensor y, float gradient_scale) {
  Worker& self = workers_[static_cast<std::size_t>(worker)];
  Tensor gradient = gradient_scale > 0 ? session_.network().output_gradient(worker) : Tensor();
  // To losses and metrics every position of a sequence is a row of its own.
  const std::int64_t labels = session_.labels_per_sample();
  if (session_.data().train->positions() > 0) {
    const Shape rows{y.rows() * labels, y.row_size() / labels};
    y = y.as(rows);
    if (!gradient.empty()) gradient = gradient.as(rows);
  }
  std::span<double> sums = self.sums;
  std::int64_t first = 0;
  const Range blocks = blocks_of(worker);
  for (std::int64_t block = blocks.first; block < blocks.last; ++block) {
    const std::int64_t count = labels * session_.blocks().rows(block, batch_rows).count();
    const ConstTensor block_y = y.rows(first, count);
    const Targets targets = self.targets.targets().rows(first, count);
    const Tensor block_dy = gradient.empty() ? Tensor() : gradient.rows(first, count);
    sums[0] +=
        targets.other_labels.empty()
            ? session_.loss().evaluate(block_y, targets, gradient_scale, block_dy)
            : mixed_loss(session_.loss(), block_y, targets, gradient_scale, block_dy, self.mixed_gradient);
    std::size_t next = 1;
    for (const auto& metric : session_.metrics()) {
      const auto kinds = static_cast<std::size_t>(metric->sums());
      metric->add(block_y, targets, sums.subspan(next, kinds));
      next += kinds;
    }
    sums = sums.subspan(kinds_);
    first += count;
  }
}

void BatchRunner::evaluate(const Dataset& split, std::span<const std::int64_t> samples) {
  session_.pool().run([&](int worker) {
    const auto mine = part(worker, samples);
    split.read(mine, session_.network().input(worker, std::ssize(mine)));
    workers_[static_cast<std::size_t>(worker)].targets.read(split, mine);
    const ConstTensor y = session_.network().forward(
        worker, {.mode = Mode::evaluation, .samples = mine, .batch_rows = std::ssize(samples)});
    score(worker, std::ssize(samples), y, 0);
  });
}

void BatchRunner::train(RowLoader& rows, std::span<const std::int64_t> samples, std::int64_t step,
                        const std::function<void(int, std::int64_t)>& on_ready) {
  // The mean over the labels of the global batch, so that gradients of unequal parts are simply added.
  const float scale = 1.0f / static_cast<float>(std::ssize(samples) * session_.labels_per_sample());
  rows.begin(step);
  // Handed on by reference: a std::function that holds this much would allocate.
  const auto work = [&](int worker) {
    const auto begin = std::chrono::steady_clock::now();
    const auto mine = part(worker, samples);
    rows.fetch(worker, mine.data() - samples.data(), mine,
               session_.network().input(worker, std::ssize(mine)));
    Worker& self = workers_[static_cast<std::size_t>(worker)];
    self.targets.read(*session_.data().train, mine, session_.data().mixup, rows.epoch());
    ledger_.add(worker, mine);
    self.data_time += std::chrono::steady_clock::now() - begin;
    const ConstTensor y = session_.network().forward(
        worker, {.mode = Mode::training, .step = step, .samples = mine, .batch_rows = std::ssize(samples)});
    score(worker, std::ssize(samples), y, scale);
    session_.network().backward(worker, [&](std::int64_t offset) { on_ready(worker, offset); });
  };
  session_.pool().run(std::ref(work));
}

std::span<const double> BatchRunner::sums() {
  std::ranges::fill(total_, 0.0);
  for (int worker = 0; worker < session_.pool().size(); ++worker) {
    const std::vector<double>& sums = workers_[static_cast<std::size_t>(worker)].sums;
    const std::size_t place =
        session_.blocks().exact ? kinds_ * static_cast<std::size_t>(blocks_of(worker).first) : 0;
    for (std::size_t i = 0; i < sums.size(); ++i) total_[place + i] += sums[i];
  }
  return total_;
}

double BatchRunner::own_loss() const {
  double loss = 0;
  for (const Worker& worker : workers_)
    for (std::size_t i = 0; i < worker.sums.size(); i += kinds_) loss += worker.sums[i];
  return loss;
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

void BatchRunner::scores(std::span<const double> sums, std::int64_t samples, Scores& scores) {
  // Block by block, in order.
  std::ranges::copy(sums, total_.begin());
  for (std::size_t i = kinds_; i < total_.size(); ++i) total_[i % kinds_] += total_[i];
  const auto count = static_cast<double>(samples * session_.labels_per_sample());
  scores.samples = samples;
  scores.loss = total_[0] / count;
  scores.metrics.clear();
  std::size_t next = 1;
  for (const auto& metric : session_.metrics()) {
    const auto size = static_cast<std::size_t>(metric->sums());
    scores.metrics.push_back(metric->value(std::span(total_).subspan(next, size), count));
    next += size;
  }
}

}  // namespace trainer
