#include "models/asynchronous/asynchronous_worker.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "models/local/model_states.h"

namespace trainer {

AsynchronousWorker::AsynchronousWorker(const Config& root, TrainingParts& whole)
    : session_(root, whole.session, mesh_, whole.session.pool()),
      parts_(root, session_, {.share = false, .oversubscribed = whole.windows.rest().oversubscribed()}),
      clipping_(session_.settings(), parts_.shard, parts_.scalars, mesh_.model()),
      parts_of_batch_(whole.session.shares()),
      sums_(parts_.batch.kinds() + 2) {}

double AsynchronousWorker::compute(std::int64_t step, std::int64_t part, Hook& hooks) {
  const std::span<const std::int64_t> batch = parts_.order.batch(step);
  const Range rows = part_of(std::ssize(batch), part, parts_of_batch_);
  BatchRunner& model = parts_.batch;
  model.clear();
  std::ranges::fill(sums_, 0.0);
  is_finite_ = true;
  if (rows.count() == 0) return 0;
  const auto samples =
      batch.subspan(static_cast<std::size_t>(rows.first), static_cast<std::size_t>(rows.count()));
  GradientReducer& reducer = *parts_.reducer;
  reducer.publish();
  reducer.begin();
  // Units of a step have different random values.
  model.begin({.samples = samples, .batch = samples, .number = step, .step = step * parts_of_batch_ + part},
              parts_.loader);
  const auto work = [&](int worker) {
    model.load(worker);
    model.forward(worker, &reducer);
    model.loss(worker);
    model.backward(worker, &reducer);
  };
  session_.pool().run(std::ref(work));
  reducer.finish();
  hooks.after_share(0, samples);

  std::ranges::copy(model.sums(), sums_.begin());
  sums_[model.kinds()] = static_cast<double>(model.labels());
  sums_[model.kinds() + 1] = model.weight();
  const std::uint32_t largest = parts_.shard.largest_gradient();
  is_finite_ = is_finite_magnitude(largest) && std::isfinite(model.own_loss());
  if (is_finite_) clipping_.before_update(step, {.largest = static_cast<double>(largest)});
  return static_cast<double>(rows.count()) / static_cast<double>(std::ssize(batch));
}

std::int64_t AsynchronousWorker::state_values() const {
  return model_state_values(session_.network().plan());
}

void AsynchronousWorker::take_states(std::span<float> values) const {
  Network& network = session_.network();
  take_model_states(network.plan(), network.states(), values);
}

void AsynchronousWorker::set_states(std::span<const float> values) {
  Network& network = session_.network();
  set_model_states(network.plan(), values, network.states());
}

}  // namespace trainer
