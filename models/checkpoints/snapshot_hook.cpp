#include "models/checkpoints/snapshot_hook.h"

#include <fmt/format.h>

#include <utility>

namespace trainer {
namespace {

/// The folders of all hosts, made ready for a run that begins after `step` steps.
SnapshotCopies ready_folders(Communicator& world, const std::filesystem::path& folder, std::int64_t step) {
  SnapshotCopies copies(world, world.split_by_host()->rank() == 0, folder);
  copies.begin(step);
  return copies;
}

}  // namespace

SnapshotHook::SnapshotHook(TrainingParts& parts, Options options, CheckpointState base,
                           CheckpointHook& checkpoints, Hook& all)
    : parts_(parts),
      options_(std::move(options)),
      checkpoints_(checkpoints),
      copies_(ready_folders(parts.session.mesh().world(), options_.folder, options_.first_step)),
      saver_(parts, CheckpointFolder(options_.folder, 1), std::move(base), all, options_.hosted) {}

bool SnapshotHook::is_due(const Progress& run, std::int64_t done) const {
  const std::int64_t interval = parts_.session.settings().snapshot;
  return done > run.first_step && done < run.total_steps &&
         done / interval > (done - run.round_steps(done)) / interval;
}

bool SnapshotHook::reads_parameters(const Progress& run, std::int64_t done) { return is_due(run, done); }

void SnapshotHook::between_steps(Progress& run) {
  if (run.result.stopped || !is_due(run, run.step)) return;
  const std::string failure = take(run);
  if (failure.empty() || std::exchange(has_warned_, true) || parts_.session.mesh().world().rank() != 0)
    return;
  options_.warn(fmt::format("train.snapshot: a snapshot of {} bytes could not be kept after step {}: {}",
                            saver_.writer().bytes(), run.step, failure));
}

std::string SnapshotHook::take(Progress& run) {
  // A run that resumes from the snapshot does not write that checkpoint again.
  checkpoints_.finish_best();
  if (std::string lack = copies_.lack_of_room(saver_.writer().bytes()); !lack.empty()) return lack;
  try {
    saver_.begin(run, true, false, [] {});
  } catch (const UnwritableCheckpoint& error) {
    return error.diagnostics().front().what;
  }
  std::string mine;
  try {
    saver_.writer().finish();
  } catch (const Error& error) {
    if (error.code() != ExitCode::failure) throw;
    mine = error.diagnostics().front().what;
  }
  if (std::string failure = copies_.first_of(mine); !failure.empty()) return failure;
  return copies_.spread(saver_.writer().last());
}

}  // namespace trainer
