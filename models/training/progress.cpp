#include "models/training/progress.h"

#include <algorithm>
#include <cmath>

#include "models/training/step_clock.h"

namespace trainer {
namespace {

/// By the first metric, else by the loss. A metric that the samples do not define is NaN: any other is
/// better.
bool is_better(const Scores& scores, const Scores& best, const std::vector<MetricFacts>& metrics) {
  const double now = metrics.empty() ? scores.loss : scores.metrics[0],
               before = metrics.empty() ? best.loss : best.metrics[0];
  if (std::isnan(before)) return !std::isnan(now);
  return !metrics.empty() && metrics[0].higher_is_better ? now > before : now < before;
}

constexpr auto kStepTimes = {&StepTimes::training,    &StepTimes::data,      &StepTimes::reduce,
                             &StepTimes::statistics,  &StepTimes::consensus, &StepTimes::update,
                             &StepTimes::publish,     &StepTimes::arrivals,  &StepTimes::waiting,
                             &StepTimes::mean_waiting};

}  // namespace

StepTimes& StepTimes::operator+=(const StepTimes& other) {
  for (const auto part : kStepTimes) this->*part += other.*part;
  return *this;
}

StepTimes& StepTimes::operator-=(const StepTimes& other) {
  for (const auto part : kStepTimes) this->*part -= other.*part;
  return *this;
}

Progress::Clock::duration Progress::time_to_stop() const {
  // A checkpoint that was never measured may take this long; a measured one twice as long as the longest.
  constexpr auto kUnmeasured = std::chrono::seconds(10), kLeast = std::chrono::seconds(1);
  const Clock::duration save =
      longest_save == Clock::duration{} ? kUnmeasured : std::max<Clock::duration>(2 * longest_save, kLeast);
  // An evaluation asks whether to stop once in a time of about this many steps.
  constexpr int kSteps = 6;
  return kSteps * longest_step + save;
}

std::int64_t Progress::round_end() const {
  const std::int64_t epoch_begin = step / steps_per_epoch * steps_per_epoch;
  const std::int64_t end = epoch_begin + ((step - epoch_begin) / round + 1) * round;
  return std::min({end, epoch_begin + steps_per_epoch, total_steps});
}

std::int64_t Progress::round_steps(std::int64_t done) const {
  if (done == 0) return 1;
  return (done - 1) % steps_per_epoch % round + 1;
}

StepTimes& Progress::begin_steps(std::int64_t end, double rate) {
  step_start = Clock::now();
  report.step = end;
  report.epoch = static_cast<int>(step / steps_per_epoch) + 1;
  report.rate = rate;
  report.logged = end / log_every > step / log_every;
  report.times = {};
  return report.times;
}

void Progress::note(double loss, bool stops) {
  losses.add(loss);
  result.stopped = stops;
}

void Progress::end_step(std::span<const double> metric_sums) {
  step = report.step;
  longest_step = std::max<Clock::duration>(longest_step, report.times.training);
  run += report.times;
  epoch += report.times;
  const Scores& scores = report.scores;
  epoch_sums.samples += scores.samples;
  epoch_sums.loss += scores.loss * metric_sums[0];
  epoch_sums.metrics.resize(metric_sums.size());
  for (std::size_t i = 0; i < metric_sums.size(); ++i) epoch_sums.metrics[i] += metric_sums[i];

  report.time = in_seconds(Clock::now() - start);
  report_shares();
}

void Progress::report_shares() {
  report.examples_per_second = static_cast<double>(epoch_sums.samples) / in_seconds(epoch.training);
  report.comm_share = comm_share(epoch);
  report.wait_share = epoch.share(epoch.mean_waiting);
  report.data_share = epoch.share(epoch.data);
  report.slow_rank = slow_rank(report.wait_share);
}

int Progress::slow_rank(double wait_share) const {
  constexpr double kNegligible = 0.05;
  return slowest >= 0 && wait_share > kNegligible ? slowest * model_ranks : -1;
}

double Progress::comm_share(const StepTimes& times) const {
  return ranks > 1 ? times.share(times.communication() - times.waiting) : 0;
}

void Progress::see(const Scores& scores, const std::vector<MetricFacts>& metrics) {
  result.last = evaluation = scores;
  best = std::isfinite(scores.loss) && (!result.best || is_better(scores, *result.best, metrics));
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
                           .wait_share = report.wait_share,
                           .data_share = report.data_share,
                           .slow_rank = report.slow_rank,
                           .time = in_seconds(Clock::now() - start),
                           .epoch_time = in_seconds(Clock::now() - epoch_start),
                           .best = best};
  if (report.staleness) epoch_report.staleness = epoch_staleness.staleness();
  if (epoch_sums.samples > 0) epoch_report.train.loss = epoch_sums.loss / epoch_sums.metrics[0];
  return epoch_report;
}

void Progress::begin_epoch() {
  epoch = {};
  epoch_sums = {};
  epoch_staleness = {};
  epoch_start = Clock::now();
}

void Progress::end() {
  result.steps = step;
  result.time = in_seconds(Clock::now() - start);
  result.comm_share = comm_share(run);
  result.wait_share = run.share(run.mean_waiting);
  result.data_share = run.share(run.data);
  result.slow_rank = slow_rank(result.wait_share);
}

}  // namespace trainer
