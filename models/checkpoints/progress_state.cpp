#include "models/checkpoints/progress_state.h"

#include "models/training/step_clock.h"

namespace trainer {
namespace {

using Clock = Progress::Clock;

Clock::duration duration(double seconds) {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

}  // namespace

void store(const Progress& run, bool pending, CheckpointState& state) {
  state.step = run.step;
  state.steps_per_epoch = run.steps_per_epoch;
  state.evaluated = !pending;
  state.time = in_seconds(Clock::now() - run.start);
  state.epoch_time = in_seconds(Clock::now() - run.epoch_start);
  state.run_times = run.run;
  state.epoch_times = run.epoch;
  state.epoch_sums = run.epoch_sums;
  state.best = run.result.best;
  state.last = run.result.last;
  state.best_step = run.best_step;
  state.best_epoch = run.result.best_epoch;
  state.chain = run.chain ? hex_of(*run.chain) : "";
}

void resume(Progress& run, const CheckpointState& state, double rate) {
  run.first_step = run.step = state.step;
  run.is_pending = run.total_steps == 0 || !state.evaluated;
  run.start -= duration(state.time);
  run.epoch_start -= duration(state.epoch_time);
  run.run = state.run_times;
  run.epoch = state.epoch_times;
  run.epoch_sums = state.epoch_sums;
  run.result.best = state.best;
  run.result.best_epoch = state.best_epoch;
  run.result.last = state.last;
  run.best_step = state.best_step;
  run.chain = digest_of_hex(state.chain);
  if (run.step == 0) return;
  run.report.step = run.step;
  run.report.epoch = static_cast<int>((run.step - 1) / run.steps_per_epoch) + 1;
  run.report.rate = rate;
  run.report.time = state.time;
  run.report_shares();
}

}  // namespace trainer
