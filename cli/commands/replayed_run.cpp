#include "cli/commands/replayed_run.h"

#include <fmt/format.h>

#include "cli/commands/preflight_check.h"
#include "cli/launching/collective_errors.h"
#include "engine/math/engine.h"
#include "engine/parallel/broadcast_text.h"
#include "engine/parallel/wait_for_all.h"
#include "engine/system/files.h"
#include "models/training/program_scores.h"
#include "models/training/sharding_check.h"

namespace trainer {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kLargestConfig = std::uint64_t{1} << 28;

/// The newest checkpoint of fewer than `first` steps; empty: there is none.
fs::path checkpoint_for(const fs::path& run, std::int64_t first) {
  const fs::path folder = run / "checkpoints";
  refuse_link(folder);
  return checkpoint_before(folder, first);
}

/// Bits repeat only in exact mode; programs of a run from elsewhere must not start.
void check_repeats(const Session& session, const fs::path& run) {
  const TrainSettings& settings = session.settings();
  if (!settings.exact || settings.local)
    throw Error(ExitCode::usage, fmt::format("{} cannot be replayed to the bit", run.string()),
                "a run with train.exact: true, without train.local");
  if (ProgramScores::are_needed(session))
    throw Error(ExitCode::usage, "a replay does not start the programs among the run's metrics",
                "-s train.evaluate=never leaves the evaluations out");
}

}  // namespace

ConfigSource config_of_run(const fs::path& run, const std::vector<std::string>& overrides) {
  const fs::path file = run / "config.yaml";
  std::error_code ignored;
  if (!fs::is_regular_file(file, ignored))
    throw Error(ExitCode::usage, fmt::format("{} is not a run directory", run.string()), "runs/NAME");
  return {.file = file.string(),
          .text = read_file(file, ExitCode::usage, kLargestConfig),
          .overrides = overrides};
}

void ReplayedRun::find(const Options& options) {
  config_ = config_of_run(options.run, options.overrides);
  if (!options.uses_checkpoints) return;
  place_ = checkpoint_for(options.run, options.first);
  if (!place_.empty()) checkpoint_ = read_checkpoint(place_);
}

ReplayedRun::ReplayedRun(const Job& job, MeshAndThreads& work, const Options& options) : job_(job) {
  run_collectively(job.world, [&] {
    with_disk(job.world, "the reading of the run", job.world.rank() == 0, [&] { find(options); });
  });
  broadcast_text(job.world, config_.text);
  broadcast_text(job.world, config_.file);
  config_.overrides = options.overrides;
  std::int64_t checkpoints = checkpoint_ ? 1 : 0;
  job.world.sum(std::span(&checkpoints, 1));
  const std::string learned = learn_once(config_, job.world);
  run_collectively(job.world, [&] {
    run_.emplace(open_run(config_, work.mesh, work.pool, learned));
    const Config train = run_->config.root().at("train");
    check_ranks(train, train_settings(train), work.mesh.data().size(), work.mesh.model().size());
    check_sharding(train, train_settings(train), job.arguments.sharding, work.mesh.model().size());
    check_repeats(*run_->session, options.run);
  });
  preflight_check(job.world, run_facts(*run_));
  training_.emplace(run_->config.root(), *run_->session,
                    TrainingRun::Options{.config = run_->config.resolved_yaml(),
                                         .initial_weights = options.initial_weights,
                                         .resumes = checkpoints > 0,
                                         .reducer = {.oversubscribed = work.affinity.placement.oversubscribed,
                                                     .sharding = job.arguments.sharding},
                                         .asked_to_stop = [this] { return is_done_(); },
                                         .replay = &relay_});
  if (checkpoints > 0) {
    run_collectively(job.world, [&] {
      if (!checkpoint_) return;
      training_->check_fit(*checkpoint_, place_.string());
      if (const std::string& then = checkpoint_->state.engine; !then.empty() && then != rounding_text())
        throw Error(ExitCode::usage,
                    {Diagnostic{.what = fmt::format("the run was computed with engine {}, this is {}", then,
                                                    rounding_text()),
                                .place = place_.string(),
                                .help = "--engine, and TRAINER_INSTRUCTIONS for its kernels"}});
    });
    training_->restore(checkpoint_ ? *checkpoint_ : Checkpoint{});
    checkpoint_.reset();
  }
  load_samples(*run_->session);
}

std::string ReplayedRun::start_text() const { return place_.empty() ? "the start" : place_.string(); }

void ReplayedRun::replay(ChainListener& listener, std::function<bool()> is_done) {
  listener_ = &listener;
  is_done_ = std::move(is_done);
  training_->run({}, "");
}

}  // namespace trainer
