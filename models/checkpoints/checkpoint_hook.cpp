#include "models/checkpoints/checkpoint_hook.h"

#include <ratio>
#include <utility>

namespace trainer {

CheckpointHook::CheckpointHook(TrainingParts& parts, CheckpointFolder folder, CheckpointState base,
                               const Observers& observers, Hook& all, HostedStates* hosted)
    : parts_(parts), observers_(observers), saver_(parts, std::move(folder), std::move(base), all, hosted) {}

void CheckpointHook::before_consensus(const Progress& run, Signals& mine) {
  const Cadence& cadence = parts_.session.settings().checkpoint;
  mine.writing |= saver_.writer().is_writing();
  mine.save |= cadence.kind == Cadence::Kind::minutes && parts_.session.mesh().world().rank() == 0 &&
               run.step_start - saved_ >= std::chrono::duration<double, std::ratio<60>>(cadence.minutes);
}

void CheckpointHook::before_update(std::int64_t, const Signals& all) {
  is_asked_ |= all.save;
  saver_.writer().poll(!all.writing);
}

bool CheckpointHook::reads_parameters(const Progress& run, std::int64_t done) {
  return is_asked_ || parts_.session.settings().checkpoint.due(done, run.steps_per_epoch, run.total_steps,
                                                               run.round_steps(done));
}

void CheckpointHook::between_steps(Progress& run) {
  run.longest_save = saver_.writer().longest();
  const Cadence& cadence = parts_.session.settings().checkpoint;
  if (run.result.stopped) run.best = false;
  if (cadence.kind == Cadence::Kind::never) return;
  if (run.result.stopped) return save(run, true);
  if (run.best || is_asked_ ||
      cadence.due(run.step, run.steps_per_epoch, run.total_steps, run.round_steps(run.step)))
    save(run, false);
}

void CheckpointHook::save(Progress& run, bool pending) {
  is_asked_ = false;
  is_best_ = run.best;
  saved_ = Clock::now();
  saver_.begin(run, pending, run.best,
               [&] { observers_.notify([](Observer& observer) { observer.on_save(); }); });
}

void CheckpointHook::finish_best() {
  if (std::exchange(is_best_, false)) saver_.writer().finish();
}

void CheckpointHook::on_divergence(std::vector<std::string>& notes) {
  saver_.writer().finish();
  if (!saver_.writer().last().empty()) notes.push_back("last checkpoint: " + saver_.writer().last().string());
}

void CheckpointHook::on_end(Progress&) { saver_.writer().finish(); }

}  // namespace trainer
