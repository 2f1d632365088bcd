#include "models/local/local_trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <limits>

#include "engine/core/sum_tree.h"
#include "engine/math/elementwise.h"
#include "models/local/model_states.h"
#include "models/training/compressed_parameters.h"
#include "models/training/divergence.h"
#include "models/training/step_clock.h"

namespace trainer {

LocalTrainer::LocalTrainer(const Config& root, TrainingParts& parts)
    : parts_(parts),
      divergence_(parts),
      hosted_(parts.session.virtual_workers().of_rank(parts.session.mesh().data().rank())),
      mean_(parts.session.mesh().data(), parts.session.virtual_workers()) {
  const std::int64_t threads = std::min<std::int64_t>(parts.session.pool().size(), hosted_.count());
  for (std::int64_t thread = 0; thread < threads; ++thread)
    runners_.push_back(std::make_unique<LocalRunner>(root, parts));
  for (std::int64_t number = hosted_.first; number < hosted_.last; ++number)
    workers_.push_back(runners_.front()->make_worker(static_cast<int>(number)));
  const bool has_residuals = parts.session.compression().has_feedback();
  for (int number = 0; number < parts.session.shares(); ++number) {
    for (const std::string& state : runners_.front()->state_names())
      names_.push_back(fmt::format("worker{}.{}", number, state));
    if (has_residuals) names_.push_back(fmt::format("worker{}.residual", number));
  }
  if (has_residuals) prepare_sign_exchange();
  total_.resize(parts.batch.kinds() + 2);
  sums_.resize(total_.size() * static_cast<std::size_t>(parts.session.shares()));
}

void LocalTrainer::prepare_sign_exchange() {
  Session& session = parts_.session;
  Communicator& data = session.mesh().data();
  std::vector<std::int64_t> hosted;
  for (int rank = 0; rank < data.size(); ++rank)
    hosted.push_back(session.virtual_workers().of_rank(rank).count());
  signs_.emplace(data, session.pool(), compressed_parameters(session.network(), session.compression()),
                 hosted);
  for (LocalWorker& worker : workers_)
    worker.residual = Arena(session.network().plan().parameter_end(), MemoryKind::residual);
}

void LocalTrainer::train(Progress& run, Hook& hooks) {
  GradientReducer& reducer = *parts_.reducer;
  hooks.on_start(run.step);
  if (run.is_pending) hooks.between_steps(run);
  while (!run.is_done()) {
    const std::int64_t first = run.step, last = run.round_end();
    StepTimes& times = run.begin_steps(last, parts_.rate(last - 1));
    StepClock clock;
    parts_.session.mesh().world().heartbeat().set_step(first + 1);
    hooks.before_step(first);
    train_workers(first, last, hooks);
    for (const LocalWorker& worker : workers_) times.data += worker.data_time;
    times.data /= runners_.size();
    clock.lap();
    sum_differences();
    average_states();
    clock.lap(times.reduce);

    parts_.shard.scale_gradients(1.0f / static_cast<float>(parts_.session.shares()));
    const std::uint32_t largest = parts_.shard.largest_gradient();
    Signals mine{.diverged = fill_sums() || !is_finite_magnitude(largest),
                 .largest = static_cast<double>(largest)};
    hooks.before_consensus(run, mine);
    clock.lap();
    const Signals all = parts_.consensus.reduce(mine, sums_);  // all-reduce of loss, metrics, signals
    clock.lap(times.consensus);
    score(parts_.consensus.sums(), first, last, run.report.scores);
    run.note(run.report.scores.loss, all.stop);
    if (all.diverged) fail(run, hooks);

    hooks.before_update(last - 1, all);
    parts_.shard.update(*parts_.optimizer, 1, last - 1);
    clock.lap(times.update);
    hooks.before_arrivals(last - 1);
    hooks.before_publish(last - 1);
    reducer.start_publish_update();  // all-gather of the global parameters
    reducer.receive();
    hooks.after_publish(last);
    clock.lap(times.publish);

    times.training = clock.total();
    run.end_step(std::span(total_).first(parts_.batch.kinds()));
    hooks.after_step(run);
    hooks.between_steps(run);
  }
  divergence_.check_arrays(run, hooks);
  hooks.on_end(run);
}

void LocalTrainer::train_workers(std::int64_t first, std::int64_t last, Hook& hooks) {
  // Whichever thread trains a virtual worker, its bits are the same.
  std::atomic<std::size_t> next{0};
  const auto work = [&](int thread) {
    if (static_cast<std::size_t>(thread) >= runners_.size()) return;
    for (std::size_t worker = next++; worker < workers_.size(); worker = next++)
      runners_[static_cast<std::size_t>(thread)]->train(workers_[worker], first, last, thread, hooks);
  };
  parts_.session.pool().run(std::ref(work));
}

void LocalTrainer::sum_differences() {
  if (signs_) return add_signs();
  GradientReducer& reducer = *parts_.reducer;
  reducer.begin();
  add_differences();
  for (int worker = 0; worker < parts_.session.pool().size(); ++worker) reducer.ready(worker, 0);
  reducer.finish();  // reduce-scatter
}

void LocalTrainer::add_signs() {
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    const std::span<float> difference = workers_[i].difference.floats(),
                           residual = workers_[i].residual.floats();
    accumulate(std::ssize(residual), residual.data(), difference.data());
    signs_->encode(i, difference, residual);
  }
  signs_->sum(parts_.windows.only().gradients(0));
}

void LocalTrainer::add_differences() {
  const VirtualWorkers& virtual_workers = parts_.session.virtual_workers();
  const std::vector<std::span<float>> gradients = parts_.windows.only().all_gradients();
  const int rank = parts_.session.mesh().data().rank();
  const auto work = [&](int thread) {
    std::size_t root = 0;
    for (int before = 0; before < thread; ++before)
      root +=
          SumTree::of_leaves(virtual_workers.count, virtual_workers.of_worker(rank, before)).roots().size();
    const Range leaves = virtual_workers.of_worker(rank, thread);
    if (leaves.count() == 0) return;
    SumTree tree = SumTree::of_leaves(virtual_workers.count, leaves);
    if (virtual_workers.rounds) tree.round_summands();
    std::vector<const float*> inputs;
    for (std::int64_t leaf = leaves.first; leaf < leaves.last; ++leaf)
      inputs.push_back(workers_[static_cast<std::size_t>(leaf - hosted_.first)].difference.floats().data());
    std::vector<float*> roots;
    while (roots.size() < tree.roots().size()) roots.push_back(gradients[root++].data());
    tree.sum(inputs, roots, 0, parts_.session.network().plan().parameter_end());
  };
  parts_.session.pool().run(std::ref(work));
}

void LocalTrainer::average_states() {
  Network& network = parts_.session.network();
  std::vector<const float*> arrays;
  if (std::vector<float> mean(static_cast<std::size_t>(model_state_values(network.plan()))); !mean.empty()) {
    for (const LocalWorker& worker : workers_) arrays.push_back(worker.model_states.floats().data());
    mean_.compute(arrays, mean);
    set_model_states(network.plan(), mean, network.states());
  }
  if (!parts_.session.settings().local->averages_states) return;
  for (std::size_t state = 0; state < workers_.front().states.size(); ++state) {
    arrays.clear();
    for (const LocalWorker& worker : workers_) arrays.push_back(worker.states[state].floats().data());
    const std::span<float> mean = workers_.front().states[state].floats();
    mean_.compute(arrays, mean);
    for (LocalWorker& worker : std::span(workers_).subspan(1))
      std::ranges::copy(mean, worker.states[state].floats().begin());
  }
}

bool LocalTrainer::fill_sums() {
  std::ranges::fill(sums_, 0.0);
  for (const LocalWorker& worker : workers_)
    std::ranges::copy(worker.sums,
                      sums_.begin() + static_cast<std::ptrdiff_t>(total_.size()) * worker.number);
  return std::ranges::any_of(workers_, [](const LocalWorker& worker) { return worker.failure.has_value(); });
}

void LocalTrainer::score(std::span<const double> sums, std::int64_t first, std::int64_t last,
                         Scores& scores) {
  // Virtual worker by virtual worker, in order.
  std::ranges::fill(total_, 0.0);
  for (std::size_t i = 0; i < sums.size(); ++i) total_[i % total_.size()] += sums[i];
  const std::size_t kinds = parts_.batch.kinds();
  const double labels = total_[kinds], weight = total_[kinds + 1];
  scores.samples = 0;
  for (std::int64_t step = first; step < last; ++step) scores.samples += std::ssize(parts_.order.batch(step));
  scores.loss = weight > 0 ? total_[0] / weight : 0;
  total_[0] = labels;
  parts_.session.metric_values(std::span(total_).first(kinds), scores.metrics);
}

void LocalTrainer::fail(Progress& run, Hook& hooks) {
  std::vector<std::string> notes;
  hooks.on_divergence(notes);
  const LocalWorker* first = nullptr;
  for (const LocalWorker& worker : workers_)
    if (worker.failure && (!first || worker.failure->step < first->failure->step)) first = &worker;
  // The earliest step of any rank; else only the outer gradient is not finite.
  double earliest =
      first ? -static_cast<double>(first->failure->step) : -std::numeric_limits<double>::infinity();
  Communicator& world = parts_.session.mesh().world();
  world.maximum({&earliest, 1});
  const bool is_here = first && -static_cast<double>(first->failure->step) == earliest;
  DivergenceFacts facts{
      .losses = run.losses,
      .epoch = run.report.epoch,
      .step = std::isfinite(earliest) ? static_cast<std::int64_t>(-earliest) + 1 : run.report.step,
      .rate = run.report.rate,
      .parameters = parts_.session.network().plan().parameters(),
      .values = parts_.windows.values(),
      .readable = {parts_.windows.all()},
      .notes = notes};
  if (is_here) {
    facts.own_loss = first->failure->loss;
    facts.array = first->failure->array;
    if (facts.array.empty()) facts.gradients = {{first->difference.floats()}};
  }
  throw divergence(world, facts);
}

int LocalTrainer::host(std::size_t state) const {
  const auto worker =
      static_cast<std::int64_t>(state * static_cast<std::size_t>(parts_.session.shares()) / names_.size());
  int rank = 0;
  while (parts_.session.virtual_workers().of_rank(rank).last <= worker) ++rank;
  return rank;
}

std::span<float> LocalTrainer::values(std::size_t state) {
  const std::size_t states = names_.size() / static_cast<std::size_t>(parts_.session.shares());
  const auto worker = static_cast<std::int64_t>(state / states);
  if (worker < hosted_.first || worker >= hosted_.last) return {};
  LocalWorker& hosted = workers_[static_cast<std::size_t>(worker - hosted_.first)];
  const std::size_t index = state % states;
  return index < hosted.states.size() ? hosted.states[index].floats() : hosted.residual.floats();
}

}  // namespace trainer
