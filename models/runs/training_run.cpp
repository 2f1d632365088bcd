#include "models/runs/training_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "engine/config/source.h"
#include "engine/core/counted.h"
#include "engine/core/elementary.h"
#include "engine/parallel/broadcast_text.h"
#include "engine/system/memory_use.h"
#include "models/checkpoints/checkpoint_folder.h"
#include "models/checkpoints/checkpoint_hook.h"
#include "models/checkpoints/data_json.h"
#include "models/checkpoints/imported_weights.h"
#include "models/checkpoints/progress_state.h"
#include "models/checkpoints/snapshot_hook.h"
#include "models/checkpoints/weights.h"
#include "models/guards/memory_watch.h"
#include "models/guards/replica_guard.h"
#include "models/guards/sample_guard.h"
#include "models/initializers/initializer.h"
#include "models/initializers/whitening.h"
#include "models/training/clipping.h"
#include "models/training/evaluation_hook.h"
#include "models/training/gradient_log.h"
#include "models/training/pause.h"
#include "models/training/trainer.h"

namespace trainer {
namespace {

void expect_weights_file(const std::filesystem::path& path) {
  std::error_code ignored;
  if (std::filesystem::is_regular_file(path, ignored)) return;
  std::string help = std::filesystem::is_directory(path, ignored) ? help_for_huggingface(path) : "";
  if (help.empty()) help = "--init " + likely_weights(path);
  throw Error(ExitCode::weights, {Diagnostic{.what = in_quotes(path.string()) + " is not a file of weights",
                                             .place = "--init " + path.string(),
                                             .help = std::move(help)}});
}

/// "sgd lr 0.05 momentum 0.9", and the rate that it has for this batch.
std::string text_of_optimizer(const Config& train, const TrainSettings& settings) {
  const auto optimizer = Registry<Optimizer>::make(train.at("optimizer"));
  if (!settings.lr_scaling) return optimizer->text();
  return fmt::format("{}, lr scaled to {:.6g} for this batch", optimizer->text(),
                     settings.scaled_rate(optimizer->rate()));
}

/// "resnet18.safetensors (122 tensors, 60 of them under other names, 2 unused); initial: head"
std::string text_of_weights(const WeightSource& source, const WeightMatch& match) {
  std::string text = source.file;
  if (!source.names.rules().empty()) {
    const auto renamed = std::ranges::count_if(
        match.taken, [](const WeightMatch::Taken& one) { return one.name != one.name_in_file; });
    text += fmt::format(" ({} tensors, {} of them under other names, {} unused)", match.taken.size(), renamed,
                        match.unused.size());
  }
  for (const std::string& layer : source.except)
    text += (&layer == &source.except.front() ? "; initial: " : ", ") + layer;
  return text;
}

Range range_of(const Parameter& parameter) {
  return {parameter.offset, parameter.offset + parameter.shape.size()};
}

MemoryByKind most_of_ranks(const MemoryByKind& mine, Communicator& world) {
  std::array<double, kMemoryKinds.size()> bytes;
  std::ranges::copy(mine, bytes.begin());
  world.maximum(bytes);
  MemoryByKind most{};
  std::ranges::transform(bytes, most.begin(), [](double count) { return static_cast<std::int64_t>(count); });
  return most;
}

/// Of each rank, on rank 0. `before`: of all starts before this one; checkpoints have those of rank 0 only.
std::vector<RankTimes> gathered(StepTimes mine, const StepTimes& before, Communicator& world) {
  mine -= before;
  const auto seconds = [](std::chrono::nanoseconds time) {
    return std::chrono::duration<double>(time).count();
  };
  // One process only adds up the gradients of its threads.
  const auto communication = world.size() > 1 ? mine.communication() : std::chrono::nanoseconds(0);
  const auto waiting = std::min(mine.waiting, communication);
  const RankTimes times{.computing = seconds(mine.training - mine.data - communication),
                        .data = seconds(mine.data),
                        .communication = seconds(communication - waiting),
                        .waiting = seconds(waiting)};
  std::vector<RankTimes> all;
  for (const std::vector<std::byte>& bytes : world.gather(std::as_bytes(std::span(&times, 1)), 0))
    std::memcpy(&all.emplace_back(), bytes.data(), sizeof(RankTimes));
  return all;
}

}  // namespace

TrainingRun::TrainingRun(const Config& root, Session& session, const Options& options)
    : session_(session),
      options_(options),
      parts_(root, session, options.reducer),
      optimizer_text_(text_of_optimizer(root.at("train"), session.settings())) {
  if (session.settings().local) local_.emplace(root, parts_);
  if (session.settings().async) asynchronous_.emplace(root, parts_);
  if (session.settings().logs_gradients)
    parts_.facts.logged_layers = GradientLog::layers(session.network().plan().parameters());
  parts_.facts.has_chain = session.settings().chain;
  if (session.settings().compression.has_feedback() && !local_) residuals_.emplace(parts_);
  if (session.settings().crosscheck > 0) crosscheck_.emplace(root, parts_);
  set_initial_values(root.at("model"));
  set_rollbacks(options.rollbacks);
}

void TrainingRun::set_rollbacks(int count) {
  rollbacks_ = count;
  if (const auto& rollback = session_.settings().rollback)
    parts_.rate_factor = elementary::pow(rollback->factor, count);
}

bool TrainingRun::may_roll_back() const {
  const auto& rollback = session_.settings().rollback;
  return rollback && rollbacks_ < rollback->times;
}

HostedStates* TrainingRun::hosted_states() {
  if (local_) return &*local_;
  return residuals_ ? &*residuals_ : nullptr;
}

void TrainingRun::set_initial_values(const Config& model) {
  Network& network = session_.network();
  const FlatValues<float> values = parts_.windows.values();
  const std::vector<Parameter>& parameters = network.plan().parameters();
  if (!options_.initial_weights.empty()) {
    const ParameterWindows::Access access(parts_.windows, parts_.windows.all());
    expect_weights_file(options_.initial_weights);
    load_weights(options_.initial_weights, network.plan(), values, network.states());
    weights_text_ = options_.initial_weights;
  } else if (!options_.resumes) {
    for (const Parameter& parameter : parameters) {
      const ParameterWindows::Access access(parts_.windows, range_of(parameter));
      initialize({&parameter, 1}, session_.settings().seed, values);
    }
    for (std::size_t i = 0; i < parameters.size(); ++i)
      if (is_whitened(parameters[i])) whitened_.push_back(static_cast<int>(i));
    if (model.has("weights")) {
      const ParameterWindows::Access access(parts_.windows, parts_.windows.all());
      const WeightSource source = weight_source(model.at("weights"));
      const WeightMatch match = import_weights(source, network, values, network.states());
      weights_text_ = text_of_weights(source, match);
      std::erase_if(whitened_, [&](int index) {
        return std::ranges::count(match.taken, parameters[static_cast<std::size_t>(index)].name,
                                  &WeightMatch::Taken::name) > 0;
      });
    }
  }
  parts_.reducer->publish();
  parts_.ema.begin();
}

void TrainingRun::whiten_parameters() {
  if (whitened_.empty()) return;
  for (const int index : whitened_) {
    const Parameter& parameter = session_.network().plan().parameters()[static_cast<std::size_t>(index)];
    const ParameterWindows::Access access(parts_.windows, range_of(parameter));
    whiten(parameter, *session_.data().train,
           parts_.windows.values().subspan(parameter.offset, parameter.shape.size()));
  }
  parts_.reducer->publish();
  parts_.ema.begin();
}

std::string TrainingRun::local_text() const {
  if (!local_) return "";
  const LocalSettings& local = *session_.settings().local;
  const std::int64_t steps = std::min(local.steps, parts_.facts.steps_per_epoch);
  return fmt::format("{}, a round of {}{}, outer {}", counted(local.virtual_workers, "virtual worker"),
                     counted(steps, "step"), steps < local.steps ? " (an epoch)" : "",
                     parts_.optimizer->text());
}

void TrainingRun::check_fit(const Checkpoint& checkpoint, const std::string& place) const {
  const NetworkPlan& plan = session_.network().plan();
  check_tensors(checkpoint.model, plan, {""}, StateUse::model, place);
  std::vector<std::string> suffixes;
  for (const std::string& state : parts_.state_names()) suffixes.push_back("." + state);
  if (local_)
    for (const std::string& state : local_->names()) suffixes.push_back("." + state);
  if (residuals_)
    for (const std::string& state : ResidualStates::names_in(checkpoint, plan))
      suffixes.push_back("." + state);
  check_tensors(checkpoint.optimizer, plan, suffixes, StateUse::training, place);
  const CheckpointState& state = checkpoint.state;
  // The line of an epoch that ends without an evaluation follows from the sums.
  const bool has_none = state.epoch_sums.samples == 0 && (state.evaluated || state.step == 0);
  const bool same_sums = has_none || state.epoch_sums.metrics.size() == session_.metric_sums();
  const auto same_metrics = [&](const std::optional<Scores>& scores) {
    return !scores || scores->metrics.size() == parts_.facts.metrics.size();
  };
  if (!same_sums || !same_metrics(state.best) || !same_metrics(state.last) ||
      state.schedule.size() != parts_.schedule->state().size())
    throw Error(ExitCode::weights,
                {Diagnostic{.what = "the checkpoint was made with another schedule or other metrics",
                            .place = place}});
  if (state.data != fingerprint_text(session_.data()) ||
      state.steps_per_epoch != parts_.facts.steps_per_epoch)
    throw Error(ExitCode::data,
                {Diagnostic{.what = "the data is not what the run learned from",
                            .place = place,
                            .notes = differences_of_data(place, state.data, session_.data())}});
}

void TrainingRun::restore(const Checkpoint& checkpoint) {
  Communicator& world = session_.mesh().world();
  const NetworkPlan& plan = session_.network().plan();
  const std::vector<std::string> names = parts_.state_names();
  const FlatValues<float> values = parts_.windows.values();
  spread_tensors(checkpoint.model, plan, "", world, [&](const Parameter& parameter, auto take) {
    const ParameterWindows::Access access(parts_.windows, range_of(parameter));
    take(values.subspan(parameter.offset, parameter.shape.size()));
  });
  spread_states(checkpoint.model, plan, StateUse::model, session_.network().states(), world);
  spread_states(checkpoint.optimizer, plan, StateUse::training, session_.network().states(), world);
  for (std::size_t state = 0; state < names.size(); ++state)
    spread_tensors(checkpoint.optimizer, plan, "." + names[state], world,
                   [&](const Parameter& parameter, auto take) {
                     std::vector<float> part(static_cast<std::size_t>(parameter.shape.size()));
                     take(part);
                     parts_.shard.set_state(state, parameter.offset, part);
                   });
  std::vector<float> flat(local_ ? static_cast<std::size_t>(plan.parameter_end()) : 0);
  for (std::size_t state = 0; local_ && state < local_->names().size(); ++state) {
    spread_tensors(checkpoint.optimizer, plan, "." + local_->names()[state], flat, world);
    if (const std::span<float> own = local_->values(state); !own.empty())
      std::ranges::copy(flat, own.begin());
  }
  if (residuals_) residuals_->restore(checkpoint);
  parts_.reducer->publish();
  std::string text = text_of(checkpoint.state);
  broadcast_text(world, text);
  start_ = parse_checkpoint_state(text);
  parts_.schedule->restore(start_.schedule);
  parts_.early_stopping.restore(start_.early_stopping, start_.last, start_.time);
  parts_.outliers.restore(start_.outliers);
  parts_.ema.restore(start_.step);
  set_rollbacks(std::max(rollbacks_, start_.rollbacks));
  parts_.facts.first_step = start_.step;
  whitened_.clear();
}

bool TrainingRun::lacks_snapshots() const {
  if (session_.settings().snapshot == 0) return false;
  std::int64_t lacking = options_.snapshots.empty() ? 1 : 0;
  session_.mesh().world().sum(std::span(&lacking, 1));
  return lacking > 0;
}

RunResult TrainingRun::run(const std::vector<Observer*>& observers, const std::filesystem::path& directory,
                           Hook* last) {
  const TrainSettings& settings = session_.settings();
  Communicator& world = session_.mesh().world();
  whiten_parameters();
  CheckpointFolder folder(directory, settings.keep, text_of(describe(session_.data())));
  const bool is_replay = options_.replay != nullptr;
  if (world.rank() == 0 && !is_replay) folder.resume(start_.step, start_.best ? start_.best_step : -1);
  Progress progress{.steps_per_epoch = parts_.facts.steps_per_epoch,
                    .total_steps = parts_.facts.total_steps,
                    .log_every = settings.log_every,
                    .ranks = world.size(),
                    .model_ranks = session_.mesh().model().size(),
                    .round = settings.local ? settings.local->steps : 1};
  resume(progress, start_, start_.step > 0 ? parts_.rate(start_.step - 1) : 0);
  const bool evaluated = start_.last && start_.evaluated &&
                         settings.evaluate.due(start_.step, progress.steps_per_epoch, progress.total_steps,
                                               progress.round_steps(start_.step));
  Pause pause(options_.until, evaluated, progress);

  Hooks hooks;
  Observers reports(observers, world.rank() == 0);
  StopRequest stop(options_.asked_to_stop, options_.deadline);
  Clipping clipping(settings, parts_.shard, parts_.scalars, session_.mesh().model());
  std::optional<MemoryWatch> memory;
  std::optional<ReplicaGuard> replicas;
  std::optional<SampleGuard> samples;
  EvaluationHook evaluation(
      parts_, reports, stop, hooks,
      {.review = options_.review, .folder = directory.parent_path() / "evaluation", .warn = options_.warn});
  EpochHook epochs(parts_, reports);
  const CheckpointState base{.seed = settings.seed,
                             .data = fingerprint_text(session_.data()),
                             .config = options_.config,
                             .rollbacks = rollbacks_,
                             .rank_shares = session_.rank_shares()};
  HostedStates* const hosted = hosted_states();
  CheckpointHook checkpoints(parts_, std::move(folder), base, reports, hooks, hosted);
  std::optional<SnapshotHook> snapshots;
  std::optional<ChainHook> chain;
  std::optional<GradientLog> gradients;
  if (settings.logs_gradients)
    hooks.add(gradients.emplace(session_.network().plan().parameters(), parts_.shard, parts_.scalars,
                                session_.mesh().model()));
  if (settings.outliers) hooks.add(parts_.outliers);
  if (!asynchronous_) hooks.add(reports);  // else each step is reported, and hooks see stretches
  hooks.add(stop);
  if (settings.steps_apart().empty()) hooks.add(clipping);  // else each gradient is clipped by itself
  if (crosscheck_) hooks.add(*crosscheck_);
  if (settings.guards.kind != Cadence::Kind::never) {
    hooks.add(memory.emplace(parts_));
    hooks.add(replicas.emplace(session_.network().plan(), session_.network().states(), session_.mesh(),
                               parts_.windows, settings.guards.count));
    hooks.add(samples.emplace(parts_));
  }
  if (settings.chain || is_replay) hooks.add(chain.emplace(parts_, reports, start_.chain, options_.replay));
  if (settings.snapshot > 0 && !is_replay && !lacks_snapshots())
    hooks.add(snapshots.emplace(
        parts_,
        SnapshotHook::Options{
            .folder = options_.snapshots, .first_step = start_.step, .warn = options_.warn, .hosted = hosted},
        base, checkpoints, hooks));
  hooks.add(evaluation);
  hooks.add(parts_.early_stopping);
  hooks.add(pause);
  hooks.add(epochs);
  if (!is_replay) hooks.add(checkpoints);
  if (last) hooks.add(*last);

  reports.notify([&](Observer& observer) { observer.on_start(parts_.facts); });
  if (local_)
    local_->train(progress, hooks);
  else if (asynchronous_)
    asynchronous_->train(progress, hooks, reports);
  else
    Trainer(parts_).train(progress, hooks);
  progress.end();
  // No rank frees memory before all have measured theirs.
  progress.result.memory = proportional_memory();
  world.sum(std::span(&progress.result.memory, 1));
  progress.result.memory_of_rank = most_of_ranks(counted_memory(), world);
  rank_times_ = gathered(progress.run, start_.run_times, world);
  reports.notify([&](Observer& observer) { observer.on_end(progress.result); });
  return progress.result;
}

}  // namespace trainer
