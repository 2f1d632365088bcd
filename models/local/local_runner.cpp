#include "models/local/local_runner.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "models/local/model_states.h"

namespace trainer {

LocalRunner::LocalRunner(const Config& root, TrainingParts& whole)
    : whole_(whole),
      session_(root, whole.session, mesh_, pool_),
      parts_(root, session_, {.share = false}),
      clipping_(session_.settings(), parts_.shard, parts_.scalars, mesh_.model()) {}

LocalWorker LocalRunner::make_worker(int number) const {
  const NetworkPlan& plan = session_.network().plan();
  LocalWorker worker{.number = number,
                     .difference = Arena(plan.parameter_end()),
                     .model_states = Arena(model_state_values(plan)),
                     .sums = std::vector<double>(parts_.batch.kinds() + 2)};
  for (std::size_t state = 0; state < state_names().size(); ++state) {
    worker.states.emplace_back(plan.parameter_end());
    if (const float initial = parts_.optimizer->initial(); initial != 0)
      std::ranges::fill(worker.states.back().floats(), initial);
  }
  return worker;
}

void LocalRunner::train(LocalWorker& worker, std::int64_t first, std::int64_t last, int thread, Hook& hooks) {
  begin_round(worker);
  worker.failure.reset();
  for (std::int64_t step = first; step < last && !worker.failure; ++step)
    take_step(worker, step, thread, hooks);
  end_round(worker, last);
}

void LocalRunner::begin_round(LocalWorker& worker) {
  std::ranges::copy(whole_.windows.only().values(), parts_.windows.only().values().begin());
  parts_.reducer->publish();
  for (std::size_t state = 0; state < worker.states.size(); ++state)
    parts_.shard.set_state(state, 0, worker.states[state].floats());
  Network& network = whole_.session.network();
  take_model_states(network.plan(), network.states(), worker.model_states.floats());
  set_model_states(session_.network().plan(), worker.model_states.floats(), session_.network().states());
  parts_.batch.clear();
}

void LocalRunner::take_step(LocalWorker& worker, std::int64_t step, int thread, Hook& hooks) {
  const std::span<const std::int64_t> batch = parts_.order.batch(step);
  const Range rows = part_of(std::ssize(batch), worker.number, session_.shares());
  if (rows.count() == 0) return;
  const auto samples =
      batch.subspan(static_cast<std::size_t>(rows.first), static_cast<std::size_t>(rows.count()));
  BatchRunner& model = parts_.batch;
  GradientReducer& reducer = *parts_.reducer;
  reducer.begin();
  model.begin({.samples = samples, .batch = samples, .number = step, .step = step}, parts_.loader);
  const auto work = [&](int) {
    model.load(0);
    model.forward(0, &reducer);
    model.loss(0);
    model.backward(0, &reducer);
  };
  pool_.run(std::ref(work));
  reducer.finish();
  hooks.after_share(thread, samples);

  const std::uint32_t largest = parts_.shard.largest_gradient();
  if (!is_finite_magnitude(largest) || !std::isfinite(model.own_loss())) {
    worker.failure = {.step = step, .loss = model.own_loss(), .array = ""};
    return;
  }
  clipping_.before_update(step, {.largest = static_cast<double>(largest)});
  parts_.update(step, whole_.rate(step));
  reducer.publish();
}

void LocalRunner::end_round(LocalWorker& worker, std::int64_t last) {
  if (!worker.failure) {
    const std::string array = parts_.shard.not_finite(session_.network().plan().parameters(), state_names());
    if (!array.empty()) worker.failure = {.step = last - 1, .loss = 0, .array = array};
  }
  const std::span<float> difference = worker.difference.floats();
  if (worker.failure)
    std::ranges::copy(parts_.windows.only().gradients(0), difference.begin());
  else
    std::ranges::transform(whole_.windows.only().values(), parts_.windows.only().values(), difference.begin(),
                           std::minus<>());
  for (std::size_t state = 0; state < worker.states.size(); ++state)
    parts_.shard.visit_state(state, [&](std::int64_t offset, std::span<const float> values) {
      std::ranges::copy(values, worker.states[state].floats().begin() + offset);
    });
  Network& network = session_.network();
  take_model_states(network.plan(), network.states(), worker.model_states.floats());
  BatchRunner& model = parts_.batch;
  std::ranges::copy(model.sums(), worker.sums.begin());
  worker.sums[model.kinds()] = static_cast<double>(model.labels());
  worker.sums[model.kinds() + 1] = model.weight();
  worker.data_time = model.data_time();
}

}  // namespace trainer
