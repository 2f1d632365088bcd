#include "cli/terminal/run_pace.h"

namespace trainer {

void RunPace::start(const RunFacts& facts, Clock::time_point now) {
  *this = {};
  steps_per_epoch_ = facts.steps_per_epoch;
  total_steps_ = facts.total_steps;
  first_step_ = step_ = facts.first_step;
  last_ = now;
}

void RunPace::note_step(std::int64_t step, Clock::time_point now) {
  step_ = step;
  in_steps_ += now - last_;
  last_ = now;
}

void RunPace::note_epoch(Clock::time_point now) {
  ++epochs_;
  between_ += now - last_;
  last_ = now;
}

double RunPace::seconds_left() const {
  const auto mean = [](Clock::duration sum, std::int64_t count) {
    return count > 0 ? std::chrono::duration<double>(sum).count() / static_cast<double>(count) : 0;
  };
  const std::int64_t steps = total_steps_ - step_, epochs = (steps + steps_per_epoch_ - 1) / steps_per_epoch_;
  return mean(in_steps_, step_ - first_step_) * static_cast<double>(steps) +
         mean(between_, epochs_) * static_cast<double>(epochs);
}

}  // namespace trainer
