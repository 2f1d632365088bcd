#include "models/training/batch.h"

#include <algorithm>

#include "datasets/loader.h"

namespace trainer {

BatchRunner::BatchRunner(Session& session)
    : session_(session), workers_(static_cast<std::size_t>(session.pool().size())) {
  std::size_t sums = 1;
  for (const auto& metric : session.metrics()) sums += static_cast<std::size_t>(metric->sums());
  total_.resize(sums);
  for (Worker& worker : workers_) worker.sums.resize(sums);
}

ConstTensor BatchRunner::forward(int worker, const Dataset& split, std::span<const std::int64_t> samples,
                                 Mode mode, std::int64_t step) {
  const Communicator& data = session_.mesh().data();
  const int workers = session_.pool().size();
  const auto rows = static_cast<std::int64_t>(samples.size());
  const Range part =
      part_of(rows, std::int64_t{data.rank()} * workers + worker, std::int64_t{data.size()} * workers);
  const auto mine =
      samples.subspan(static_cast<std::size_t>(part.first), static_cast<std::size_t>(part.count()));
  split.read(mine, session_.network().input(worker, part.count()));
  std::vector<std::int32_t>& labels = workers_[static_cast<std::size_t>(worker)].labels;
  labels.resize(mine.size());
  std::ranges::transform(mine, labels.begin(), [&](std::int64_t sample) { return split.label(sample); });
  return session_.network().forward(worker,
                                    {.mode = mode, .step = step, .samples = mine, .batch_rows = rows});
}

void BatchRunner::score(int worker, ConstTensor y, float gradient_scale) {
  Worker& self = workers_[static_cast<std::size_t>(worker)];
  const Targets targets{.labels = self.labels};
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
  session_.pool().run(
      [&](int worker) { score(worker, forward(worker, split, samples, Mode::evaluation, 0), 0); });
}

void BatchRunner::train(const Dataset& split, std::span<const std::int64_t> samples, std::int64_t step,
                        const std::function<void(int, std::int64_t)>& on_ready) {
  // The mean over the global batch, so that gradients of unequal parts are simply added.
  const float scale = 1.0f / static_cast<float>(samples.size());
  session_.pool().run([&](int worker) {
    score(worker, forward(worker, split, samples, Mode::training, step), scale);
    session_.network().backward(worker, [&](std::int64_t offset) { on_ready(worker, offset); });
  });
}

std::span<const double> BatchRunner::sums() {
  std::ranges::fill(total_, 0.0);
  for (const Worker& worker : workers_)
    for (std::size_t i = 0; i < total_.size(); ++i) total_[i] += worker.sums[i];
  return total_;
}

void BatchRunner::clear() {
  for (Worker& worker : workers_) std::ranges::fill(worker.sums, 0.0);
}

Scores BatchRunner::scores(std::span<const double> sums, std::int64_t samples) const {
  const auto count = static_cast<double>(samples);
  Scores scores{.samples = samples, .loss = sums[0] / count};
  std::size_t next = 1;
  for (const auto& metric : session_.metrics()) {
    const auto size = static_cast<std::size_t>(metric->sums());
    scores.metrics.push_back(metric->value(sums.subspan(next, size), count));
    next += size;
  }
  return scores;
}

}  // namespace trainer
