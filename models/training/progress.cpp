#include "models/training/progress.h"

#include <algorithm>
#include <cmath>

namespace trainer {
namespace {

double seconds(Progress::Clock::duration duration) { return std::chrono::duration<double>(duration).count(); }

Progress::Clock::duration duration(double seconds) {
  return std::chrono::duration_cast<Progress::Clock::duration>(std::chrono::duration<double>(seconds));
}

/// The first metric decides, else the loss. A metric of samples that say nothing about it is NaN: any other
/// is better.
bool is_better(const Scores& scores, const Scores& best, const std::vector<MetricFacts>& metrics) {
  const double now = metrics.empty() ? scores.loss : scores.metrics[0],
               before = metrics.empty() ? best.loss : best.metrics[0];
  if (std::isnan(before)) return !std::isnan(now);
  return !metrics.empty() && metrics[0].higher_is_better ? now > before : now < before;
}

}  // namespace

StepTimes& StepTimes::operator+=(const StepTimes& other) {
  training += other.training;
  data += other.data;
  sum += other.sum;
  agree += other.agree;
  update += other.update;
  publish += other.publish;
  return *this;
}

void Progress::go_on_from(const CheckpointState& state, double rate) {
  step = state.step;
  start -= duration(state.time);
  epoch_start -= duration(state.epoch_time);
  run = state.run_times;
  epoch = state.epoch_times;
  epoch_sums = state.epoch_sums;
  result.best = state.best;
  result.best_epoch = state.best_epoch;
  result.last = state.last;
  best_step = state.best_step;
  if (step == 0) return;
  report.step = step;
  report.epoch = static_cast<int>((step - 1) / steps_per_epoch) + 1;
  report.rate = rate;
  report.time = state.time;
  report_shares();
}

CheckpointState Progress::state(bool pending) const {
  return {.step = step,
          .steps_per_epoch = steps_per_epoch,
          .evaluated = !pending,
          .time = seconds(Clock::now() - start),
          .epoch_time = seconds(Clock::now() - epoch_start),
          .run_times = run,
          .epoch_times = epoch,
          .epoch_sums = epoch_sums,
          .best = result.best,
          .last = result.last,
          .best_step = best_step,
          .best_epoch = result.best_epoch};
}

Progress::Clock::duration Progress::time_to_stop(Clock::duration longest_save) const {
  // Never measured, a checkpoint may take this long; measured, twice as long the next time.
  constexpr auto kUnmeasured = std::chrono::seconds(10), kLeast = std::chrono::seconds(1);
  const Clock::duration save =
      longest_save == Clock::duration{} ? kUnmeasured : std::max<Clock::duration>(2 * longest_save, kLeast);
  // An evaluation asks now and then whether to stop, as often as some steps would.
  constexpr int kSteps = 6;
  return kSteps * longest_step + save;
}

void Progress::end_step(std::span<const double> metric_sums) {
  ++step;
  longest_step = std::max<Clock::duration>(longest_step, report.times.training);
  run += report.times;
  epoch += report.times;
  const Scores& scores = report.scores;
  epoch_sums.samples += scores.samples;
  epoch_sums.loss += scores.loss * metric_sums[0];
  epoch_sums.metrics.resize(metric_sums.size());
  for (std::size_t i = 0; i < metric_sums.size(); ++i) epoch_sums.metrics[i] += metric_sums[i];

  report.time = seconds(Clock::now() - start);
  report_shares();
}

void Progress::report_shares() {
  report.examples_per_second = static_cast<double>(epoch_sums.samples) / seconds(epoch.training);
  report.comm_share = epoch.share(epoch.communication());
  report.data_share = epoch.share(epoch.data);
}

void Progress::see(const Scores& scores, const std::vector<MetricFacts>& metrics) {
  result.last = evaluation = scores;
  best = !result.best || is_better(scores, *result.best, metrics);
  if (!best) return;
  result.best = scores;
  result.best_epoch = step == 0 ? 0 : report.epoch;
  best_step = step;
}

EpochReport Progress::epoch_report() const {
  EpochReport epoch_report{.epoch = report.epoch,
                           .step = step,
                           .train = {.samples = epoch_sums.samples},
                           .evaluation = evaluation,
                           .rate = report.rate,
                           .examples_per_second = report.examples_per_second,
                           .comm_share = report.comm_share,
                           .data_share = report.data_share,
                           .time = seconds(Clock::now() - start),
                           .epoch_time = seconds(Clock::now() - epoch_start),
                           .best = best};
  if (epoch_sums.samples > 0) epoch_report.train.loss = epoch_sums.loss / epoch_sums.metrics[0];
  return epoch_report;
}

void Progress::begin_epoch() {
  epoch = {};
  epoch_sums = {};
  epoch_start = Clock::now();
}

void Progress::end() {
  result.steps = step;
  result.time = seconds(Clock::now() - start);
  result.comm_share = run.share(run.communication());
  result.data_share = run.share(run.data);
}

}  // namespace trainer
