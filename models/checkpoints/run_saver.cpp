#include "models/checkpoints/run_saver.h"

#include <optional>

#include "engine/math/engine.h"
#include "models/checkpoints/progress_state.h"

namespace trainer {

RunSaver::RunSaver(TrainingParts& parts, CheckpointFolder folder, CheckpointState base, Hook& all,
                   HostedStates* hosted)
    : parts_(parts),
      base_(std::move(base)),
      all_(all),
      divergence_(parts),
      writer_({.plan = parts.session.network().plan(),
               .optimizer_states = parts.state_names(),
               .windows = parts.windows,
               .shard = parts.shard,
               .hosted = hosted,
               .layer_states = parts.session.network().states(),
               .mesh = parts.session.mesh()},
              std::move(folder)) {}

void RunSaver::begin(Progress& run, bool pending, bool best, const std::function<void()>& prepare) {
  all_.before_save(run);
  divergence_.check_arrays(run, all_);
  CheckpointState state = base_;
  store(run, pending, state);
  state.engine = rounding_text();
  state.schedule = parts_.schedule->state();
  state.early_stopping = parts_.early_stopping.state();
  state.outliers = parts_.outliers.state();
  std::optional<UnwritableCheckpoint> failure;
  parts_.ema.with_ema(run.step, all_, [&] {
    try {
      writer_.begin(state, best, prepare);
    } catch (const UnwritableCheckpoint& error) {
      failure = error;
    }
  });
  if (failure) throw *failure;
}

}  // namespace trainer
