#include "models/checkpoints/checkpoint_hook.h"

#include <ratio>

#include "engine/math/engine.h"
#include "models/checkpoints/progress_state.h"

namespace trainer {

CheckpointHook::CheckpointHook(TrainingParts& parts, CheckpointFolder folder, CheckpointState base,
                               const Observers& observers, Hook& all, HostedStates* hosted)
    : parts_(parts),
      base_(std::move(base)),
      observers_(observers),
      all_(all),
      divergence_(parts),
      writer_({.plan = parts.session.network().plan(),
               .optimizer_states = parts.state_names(),
               .window = parts.window,
               .shard = parts.shard,
               .hosted = hosted,
               .layer_states = parts.session.network().states(),
               .mesh = parts.session.mesh()},
              std::move(folder)) {}

void CheckpointHook::before_consensus(const Progress& run, Signals& mine) {
  const Cadence& cadence = parts_.session.settings().checkpoint;
  mine.writing |= writer_.is_writing();
  mine.save |= cadence.kind == Cadence::Kind::minutes && parts_.session.mesh().world().rank() == 0 &&
               run.step_start - saved_ >= std::chrono::duration<double, std::ratio<60>>(cadence.minutes);
}

void CheckpointHook::before_update(std::int64_t, const Signals& all) {
  is_asked_ |= all.save;
  writer_.poll(!all.writing);
}

bool CheckpointHook::reads_parameters(const Progress& run, std::int64_t done) {
  return is_asked_ || parts_.session.settings().checkpoint.due(done, run.steps_per_epoch, run.total_steps,
                                                               run.round_steps(done));
}

void CheckpointHook::between_steps(Progress& run) {
  run.longest_save = writer_.longest();
  const Cadence& cadence = parts_.session.settings().checkpoint;
  if (run.result.stopped) run.best = false;
  if (cadence.kind == Cadence::Kind::never) return;
  if (run.result.stopped) return save(run, true);
  if (run.best || is_asked_ ||
      cadence.due(run.step, run.steps_per_epoch, run.total_steps, run.round_steps(run.step)))
    save(run, false);
}

void CheckpointHook::save(Progress& run, bool pending) {
  all_.before_save(run.step);
  divergence_.check_arrays(run, all_);
  is_asked_ = false;
  saved_ = Clock::now();
  CheckpointState state = base_;
  store(run, pending, state);
  state.engine = engine_text();
  state.schedule = parts_.schedule->state();
  parts_.ema.with_ema(run.step, all_, [&] {
    writer_.begin(state, run.best,
                  [&] { observers_.notify([](Observer& observer) { observer.on_save(); }); });
  });
}

void CheckpointHook::on_divergence(std::vector<std::string>& notes) {
  writer_.finish();
  if (!writer_.last().empty()) notes.push_back("last checkpoint: " + writer_.last().string());
}

void CheckpointHook::on_end(Progress&) { writer_.finish(); }

}  // namespace trainer
