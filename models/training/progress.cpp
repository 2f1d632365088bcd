#include "models/training/progress.h"

namespace trainer {
namespace {

double seconds(Progress::Clock::duration duration) { return std::chrono::duration<double>(duration).count(); }

}  // namespace

void Progress::end_step(const Times& times) {
  ++step;
  for (Times* sum : {&run, &epoch}) {
    sum->training += times.training;
    sum->communication += times.communication;
    sum->data += times.data;
  }
  const Scores& scores = report.scores;
  const auto samples = static_cast<double>(scores.samples);
  epoch_sums.samples += scores.samples;
  epoch_sums.loss += scores.loss * samples;
  epoch_sums.metrics.resize(scores.metrics.size());
  for (std::size_t i = 0; i < scores.metrics.size(); ++i)
    epoch_sums.metrics[i] += scores.metrics[i] * samples;

  report.time = seconds(Clock::now() - start);
  report.examples_per_second = static_cast<double>(epoch_sums.samples) / seconds(epoch.training);
  report.comm_share = epoch.communication_share();
  report.data_share = epoch.data_share();
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
  result.comm_share = run.communication_share();
  result.data_share = run.data_share();
}

}  // namespace trainer
