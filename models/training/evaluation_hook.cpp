#include "models/training/evaluation_hook.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "models/training/evaluation.h"
#include "models/training/loss_history.h"

namespace trainer {

EvaluationHook::EvaluationHook(TrainingParts& parts, const Observers& observers, const StopRequest& stop,
                               Hook& all, Options options)
    : parts_(parts), observers_(observers), stop_(stop), all_(all), options_(std::move(options)) {
  if (ProgramScores::are_needed(parts.session)) programs_.emplace(parts.session, options_.folder);
}

bool EvaluationHook::is_due(const Progress& run, std::int64_t done) const {
  return !run.result.stopped && parts_.session.evaluation_data() &&
         parts_.session.settings().evaluate.due(done, run.steps_per_epoch, run.total_steps,
                                                run.round_steps(done));
}

void EvaluationHook::between_steps(Progress& run) {
  run.evaluation.reset();
  run.best = false;
  if (!is_due(run, run.step)) return;
  std::optional<Scores> scores;
  Review review;
  parts_.ema.with_ema(run.step, all_, [&] {
    const Dataset& split = *parts_.session.evaluation_data();
    const auto stops = [&] { return stop_.is_due(run, Progress::Clock::now()); };
    if (programs_) programs_->begin(split);
    scores = evaluate(parts_.session, split, stops, options_.review ? &review : nullptr,
                      programs_ ? &*programs_ : nullptr);
    if (scores && programs_ && !programs_->run(*scores, stops)) scores.reset();
  });
  run.result.stopped = !scores;
  if (!scores) return;
  parts_.schedule->see(scores->loss);
  run.see(*scores, parts_.facts.metrics);
  if (options_.review && run.best) *options_.review = std::move(review);
  check_loss(run);
  observers_.notify([&](Observer& observer) {
    observer.on_evaluation(run.report, parts_.facts.evaluation_split, *run.evaluation);
  });
}

void EvaluationHook::check_loss(const Progress& run) {
  const double loss = run.evaluation->loss;
  if (was_finite_ && !std::isfinite(loss) && parts_.session.mesh().world().rank() == 0)
    options_.warn(
        fmt::format("loss of {} is {} after step {}: no checkpoint with such a loss is the best one",
                    parts_.facts.evaluation_split, value_text(loss), run.step));
  was_finite_ = std::isfinite(loss);
}

void EpochHook::between_steps(Progress& run) {
  if (run.result.stopped) return;
  if (run.ends_epoch()) {
    EpochReport report = run.epoch_report();
    parts_.session.metric_values(run.epoch_sums.metrics, report.train.metrics);
    observers_.notify([&](Observer& observer) { observer.on_epoch(report); });
  }
  // A last epoch that is cut short continues where the run is made longer.
  if (run.step % run.steps_per_epoch == 0) run.begin_epoch();
}

}  // namespace trainer
