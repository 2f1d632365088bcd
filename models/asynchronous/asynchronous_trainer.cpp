#include "models/asynchronous/asynchronous_trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>

#include "models/local/model_states.h"
#include "models/training/divergence.h"
#include "models/training/step_clock.h"

namespace trainer {
namespace {

using Clock = Progress::Clock;

Range only_range(const std::vector<Range>& shard) {
  if (shard.size() > 1) throw std::logic_error("an asynchronous run has shards of one range");
  return shard.empty() ? Range{} : shard.front();
}

}  // namespace

AsynchronousTrainer::AsynchronousTrainer(const Config& root, TrainingParts& parts)
    : parts_(parts),
      worker_(root, parts),
      divergence_(parts),
      shard_(only_range(parts.windows.shard())),
      ranks_(parts.session.shares()),
      optimizer_(*parts.optimizer),
      ahead_(static_cast<std::size_t>(shard_.count())),
      server_(parts.session.mesh().data(),
              {.floats = parts.session.network().plan().parameter_end(),
               .shard = shard_,
               .bound = parts.session.settings().async->staleness,
               .notes = std::ssize(worker_.sums()) + static_cast<std::int64_t>(StalenessSum::kNotes)}),
      log_(parts.session.shares(), worker_.sums().size()),
      sums_(worker_.sums().size()),
      notes_(sums_.size() + StalenessSum::kNotes) {}

std::string AsynchronousTrainer::text() const {
  const int at_a_time = server_.workers_at_a_time();
  return fmt::format("staleness at most {}", parts_.session.settings().async->staleness) +
         (at_a_time < ranks_ ? fmt::format(", so {} of {} ranks compute at a time", at_a_time, ranks_) : "");
}

std::span<const float> AsynchronousTrainer::values(std::int64_t expected) {
  if (expected == 0) return parts_.windows.values().subspan(shard_.first, shard_.count());
  const float steps = static_cast<float>(expected) / static_cast<float>(ranks_);
  const auto rate = static_cast<float>(parts_.rate(step_));
  parts_.shard.visit_segments([&](std::int64_t offset, const Segment& segment) {
    const auto first = static_cast<std::size_t>(offset - shard_.first);
    optimizer_.look_ahead(segment, rate, step_, steps,
                          std::span(ahead_).subspan(first, segment.values.size()));
  });
  return ahead_;
}

void AsynchronousTrainer::update(std::int64_t unit, double share, std::span<const float> gradient,
                                 std::int64_t version) {
  step_ = unit / ranks_;
  Optimizer& optimizer = *parts_.optimizer;
  std::ranges::copy(gradient, parts_.windows.sums().subspan(shard_.first, shard_.count()).begin());
  if (const auto momentum = parts_.schedule->momentum(step_)) optimizer.set_momentum(*momentum);
  const std::int64_t number = optimizer_.step_of(version, ranks_);
  parts_.shard.find_directions(optimizer, number);
  optimizer_.set_share(static_cast<float>(share));
  parts_.shard.update(optimizer_, static_cast<float>(parts_.rate(step_)), number);
}

void AsynchronousTrainer::take_notes(std::int64_t unit, std::span<const double> notes) {
  log_.add(unit / ranks_, notes);
}

std::int64_t AsynchronousTrainer::stretch_end(const Progress& run) const {
  const TrainSettings& settings = parts_.session.settings();
  const auto is_due = [&](std::int64_t done) {
    return done % run.steps_per_epoch == 0 || done == run.total_steps ||
           settings.evaluate.due(done, run.steps_per_epoch, run.total_steps) ||
           settings.checkpoint.due(done, run.steps_per_epoch, run.total_steps) ||
           (settings.snapshot > 0 && done % settings.snapshot == 0);
  };
  std::int64_t end = run.step + 1;
  while (!is_due(end)) ++end;
  return end;
}

void AsynchronousTrainer::train(Progress& run, Hook& hooks, const Observers& reports) {
  hooks.on_start(run.step);
  if (run.is_pending) hooks.between_steps(run);
  reported_ = run.step;
  while (!run.is_done()) {
    const std::int64_t first = run.step, planned = stretch_end(run);
    StepTimes& times = run.begin_steps(planned, parts_.rate(first));
    StepClock clock;
    hooks.before_step(first);
    copy_states_to_worker();
    step_ = first;
    server_.begin({first * ranks_, planned * ranks_}, first * ranks_, *this);
    compute_units(run, hooks, reports);
    clock.lap();
    const std::int64_t end = server_.end() / ranks_;

    run.report.step = end;
    run.report.rate = parts_.rate(end - 1);
    Signals mine{.diverged = failed_.has_value()};
    run.step_start = Clock::now();
    hooks.before_consensus(run, mine);
    const Signals all = parts_.consensus.reduce(mine, sums_);  // all-reduce of loss, metrics, signals
    std::chrono::nanoseconds waiting{};
    clock.lap(waiting);
    times.consensus += waiting;
    report_steps(run, reports);
    std::vector<double> total(parts_.consensus.sums().begin(), parts_.consensus.sums().end());
    score_stretch(first, end, total, run);
    run.note(run.report.scores.loss, all.stop);
    if (all.diverged) fail(run, hooks);
    reduce_waiting_and_staleness(run, waiting);

    hooks.before_update(end - 1, all);
    hooks.before_arrivals(end - 1);
    hooks.before_publish(end - 1);
    parts_.reducer->publish();  // all-gather of the shards
    average_states();
    hooks.after_publish(end);
    clock.lap(times.publish);

    times.training = clock.total();
    const auto longest = std::max<Clock::duration>(run.longest_step, longest_unit_);
    run.end_step(std::span(total).first(parts_.batch.kinds()));
    run.longest_step = longest;
    hooks.after_step(run);
    hooks.between_steps(run);
  }
  server_.close();
  divergence_.check_arrays(run, hooks);
  hooks.on_end(run);
}

void AsynchronousTrainer::copy_states_to_worker() {
  Network& network = parts_.session.network();
  std::vector<float> states(static_cast<std::size_t>(worker_.state_values()));
  take_model_states(network.plan(), network.states(), states);
  worker_.set_states(states);
}

void AsynchronousTrainer::compute_units(Progress& run, Hook& hooks, const Observers& reports) {
  std::ranges::fill(sums_, 0.0);
  staleness_ = {};
  units_ = samples_ = 0;
  stretch_begin_ = Clock::now();
  while (true) {
    StepClock clock;
    const std::optional<std::int64_t> unit = server_.next(worker_.values());
    clock.lap(run.report.times.publish);
    if (std::exchange(has_given_, false)) {
      const auto staleness = static_cast<double>(server_.staleness());
      staleness_.add(staleness);
      not_noted_.add(staleness);
    }
    if (!unit) return;
    compute_unit(*unit, run, hooks);
    longest_unit_ = std::max(longest_unit_, std::chrono::nanoseconds(Clock::now() - run.step_start));
    if (failed_) return server_.leave();
    report_steps(run, reports);
  }
}

void AsynchronousTrainer::compute_unit(std::int64_t unit, Progress& run, Hook& hooks) {
  const std::int64_t step = unit / ranks_;
  run.step_start = Clock::now();
  parts_.session.mesh().world().heartbeat().set_step(step + 1);
  StepTimes& times = run.report.times;
  const double share = worker_.compute(step, unit % ranks_, hooks);
  times.data += worker_.data_time();
  if (!worker_.is_finite()) {
    failed_ = step;
    return;
  }
  std::ranges::transform(sums_, worker_.sums(), sums_.begin(), std::plus<>());
  std::ranges::copy(worker_.sums(), notes_.begin());
  std::exchange(not_noted_, {}).write_notes(std::span(notes_).last(StalenessSum::kNotes));
  StepClock clock;
  server_.give({.unit = unit,
                .share = share,
                .gradient = worker_.gradient(),
                .notes = notes_,
                .ends_early = has_to_end(run, hooks)});
  clock.lap(times.reduce);
  has_given_ = share > 0;
  if (has_given_) ++units_;
}

bool AsynchronousTrainer::has_to_end(Progress& run, Hook& hooks) {
  Signals signals;
  hooks.before_consensus(run, signals);
  return signals.stop || signals.save || signals.time_is_over;
}

void AsynchronousTrainer::report_steps(const Progress& run, const Observers& reports) {
  while (auto sums = log_.take(reported_)) {
    line_staleness_.add(log_.take_staleness());
    StepReport report = run.report;
    report.rate = parts_.rate(reported_);
    report.scores.samples = std::ssize(parts_.order.batch(reported_));
    score(*sums, report.scores);
    report.step = ++reported_;
    report.logged = reported_ % run.log_every == 0;
    report.time = in_seconds(Clock::now() - run.start);
    samples_ += report.scores.samples;
    const auto training = run.epoch.training + (Clock::now() - stretch_begin_);
    report.examples_per_second =
        static_cast<double>(run.epoch_sums.samples + samples_) / in_seconds(training);
    report.staleness = line_staleness_.staleness();
    if (report.logged) line_staleness_ = {};
    reports.notify([&](Observer& observer) { observer.on_step(report); });
  }
}

void AsynchronousTrainer::score(std::span<double> sums, Scores& scores) const {
  const std::size_t kinds = parts_.batch.kinds();
  const double labels = sums[kinds], weight = sums[kinds + 1];
  scores.loss = weight > 0 ? sums[0] / weight : 0;
  sums[0] = labels;
  parts_.session.metric_values(sums.first(kinds), scores.metrics);
}

void AsynchronousTrainer::score_stretch(std::int64_t first, std::int64_t end, std::span<double> sums,
                                        Progress& run) const {
  Scores& scores = run.report.scores;
  scores.samples = 0;
  for (std::int64_t step = first; step < end; ++step) scores.samples += std::ssize(parts_.order.batch(step));
  score(sums, scores);
  run.report.logged = end / run.log_every > first / run.log_every;
}

void AsynchronousTrainer::reduce_waiting_and_staleness(Progress& run, std::chrono::nanoseconds waiting) {
  std::array row{staleness_.gradients, staleness_.sum, in_seconds(waiting), staleness_.max};
  parts_.scalars.sum(row, 1);
  const StalenessSum all{.gradients = row[0], .sum = row[1], .max = row[3]};
  run.report.staleness = all.staleness();
  run.epoch_staleness.add(all);
  run.report.times.waiting += waiting;
  run.report.times.mean_waiting += std::chrono::duration_cast<std::chrono::nanoseconds>(
      std::chrono::duration<double>(row[2] / static_cast<double>(ranks_)));
}

void AsynchronousTrainer::average_states() {
  std::vector<float> states(static_cast<std::size_t>(worker_.state_values()));
  if (states.empty()) return;
  worker_.take_states(states);
  const auto weight = static_cast<double>(units_);
  std::vector<double> sums(states.begin(), states.end());
  for (double& sum : sums) sum *= weight;
  sums.push_back(weight);
  parts_.session.mesh().data().sum(sums);
  for (std::size_t i = 0; i < states.size(); ++i) states[i] = static_cast<float>(sums[i] / sums.back());
  Network& network = parts_.session.network();
  set_model_states(network.plan(), states, network.states());
}

void AsynchronousTrainer::fail(Progress& run, Hook& hooks) {
  server_.close();
  std::vector<std::string> notes;
  hooks.on_divergence(notes);
  // The earliest step of any rank.
  constexpr double kNone = std::numeric_limits<double>::infinity();
  double earliest = failed_ ? -static_cast<double>(*failed_) : -kNone;
  Communicator& world = parts_.session.mesh().world();
  world.maximum({&earliest, 1});
  DivergenceFacts facts{.losses = run.losses,
                        .epoch = run.report.epoch,
                        .step = static_cast<std::int64_t>(-earliest) + 1,
                        .rate = run.report.rate,
                        .parameters = parts_.session.network().plan().parameters(),
                        .values = parts_.windows.values(),
                        .readable = {shard_},
                        .notes = notes};
  if (failed_ && -static_cast<double>(*failed_) == earliest) {
    facts.own_loss = worker_.loss();
    facts.gradients = {{worker_.gradient()}};
  }
  throw divergence(world, facts);
}

}  // namespace trainer
