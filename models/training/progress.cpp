#include "models/training/progress.h"

namespace trainer {
namespace {

double seconds(Progress::Clock::duration duration) { return std::chrono::duration<double>(duration).count(); }

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

void Progress::end_step() {
  ++step;
  run += report.times;
  epoch += report.times;
  const Scores& scores = report.scores;
  const auto samples = static_cast<double>(scores.samples);
  epoch_sums.samples += scores.samples;
  epoch_sums.loss += scores.loss * samples;
  epoch_sums.metrics.resize(scores.metrics.size());
  for (std::size_t i = 0; i < scores.metrics.size(); ++i)
    epoch_sums.metrics[i] += scores.metrics[i] * samples;

  report.time = seconds(Clock::now() - start);
  report.examples_per_second = static_cast<double>(epoch_sums.samples) / seconds(epoch.training);
  report.comm_share = epoch.share(epoch.communication());
  report.data_share = epoch.share(epoch.data);
}

EpochReport Progress::epoch_report() const {
  EpochReport epoch_report{.epoch = report.epoch,
                           .step = step,
                           .train = epoch_sums,
                           .evaluation = evaluation,
                           .rate = report.rate,
                           .examples_per_second = report.examples_per_second,
                           .comm_share = report.comm_share,
                           .data_share = report.data_share,
                           .time = seconds(Clock::now() - start),
                           .epoch_time = seconds(Clock::now() - epoch_start),
                           .best = best};
  const auto samples = static_cast<double>(epoch_sums.samples);
  epoch_report.train.loss /= samples;
  for (double& metric : epoch_report.train.metrics) metric /= samples;
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
