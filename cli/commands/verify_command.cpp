#include <fmt/format.h>

#include <filesystem>
#include <optional>

#include "cli/commands/bundle.h"
#include "cli/commands/replayed_run.h"
#include "cli/launching/collective_errors.h"
#include "cli/terminal/text.h"
#include "engine/core/escape.h"
#include "engine/parallel/wait_for_all.h"
#include "models/proof/checkpoint_weights.h"
#include "models/proof/step_difference.h"

namespace trainer {
namespace {

namespace fs = std::filesystem;

/// Compares a replay with a chain, step by step, until `last` or the first difference.
class Comparison final : public ChainListener {
 public:
  Comparison(const Chain& chain, std::int64_t last, const NetworkPlan& plan)
      : chain_(chain), last_(last), plan_(plan) {}

  void on_record(const ChainRecord& replayed, const ChainItems& items) override {
    if (is_done()) return;
    step_ = replayed.step;
    if (const ChainRecord* recorded = chain_.at(step_)) {
      // A replay starts with weights alone.
      if (const bool is_start = first_; is_start) {
        ChainRecord start = *recorded;
        start.batch = replayed.batch;
        start.gradients = replayed.gradients;
        difference_ = step_difference(start, replayed, items, plan_);
        starts_wrong_ = difference_.has_value();
      } else {
        difference_ = step_difference(*recorded, replayed, items, plan_);
      }
    }
    first_ = false;
  }
  bool is_done() const { return difference_ || (!first_ && step_ >= last_); }
  std::int64_t step() const { return step_; }
  const std::optional<StepDifference>& difference() const { return difference_; }
  /// The weights with which the replay starts differ.
  bool starts_wrong() const { return starts_wrong_; }

 private:
  const Chain& chain_;
  std::int64_t last_, step_ = 0;
  const NetworkPlan& plan_;
  std::optional<StepDifference> difference_;
  bool first_ = true, starts_wrong_ = false;
};

/// The steps to replay. Error(usage) if the chain does not have them.
StepRange range_of(const Arguments& arguments, const Chain& chain) {
  const StepRange all{.first = chain.records.front().step + 1, .last = chain.last_step()};
  const StepRange range = arguments.range_of_steps.value_or(all);
  if (arguments.range_of_steps && (range.first < all.first || range.last > all.last))
    throw Error(ExitCode::usage, fmt::format("--steps {}..{}: the chain has steps {} to {}", range.first,
                                             range.last, all.first, all.last));
  return range;
}

/// The first checkpoint of the run whose weights or chain value are not those of its step; empty: none.
std::string wrong_checkpoint(const fs::path& run, const Chain& chain, const ReplayedRun& replayed,
                             int& checked) {
  const fs::path folder = run / "checkpoints";
  for (const std::int64_t step : checkpoint_steps(folder)) {
    const ChainRecord* const record = chain.at(step);
    const fs::path place = folder / checkpoint_name(step);
    if (!record) return place.string() + ": the chain does not have its step";
    const Checkpoint checkpoint = read_checkpoint(place);
    replayed.training().check_fit(checkpoint, place.string());
    ++checked;
    if (!checkpoint.state.chain.empty() && checkpoint.state.chain != hex_of(record->value))
      return place.string() + ": its chain value is not that of its step";
    if (weights_of(checkpoint, replayed.plan()) != record->weights)
      return place.string() + ": its weights are not those of its step";
  }
  return "";
}

}  // namespace

int verify_command(const Job& job) {
  const Arguments& arguments = job.arguments;
  const fs::path run = arguments.files.front();
  std::optional<Chain> chain;  // of world rank 0
  StepRange range;
  run_collectively(job.world, [&] {
    with_disk(job.world, "the reading of the chain", job.world.rank() == 0, [&] {
      check_bundle(run);
      chain = read_chain(run);
      range = range_of(arguments, *chain);
    });
  });
  MeshAndThreads work(job);
  ReplayedRun replayed(job, work,
                       {.run = run,
                        .overrides = arguments.overrides,
                        .initial_weights = arguments.initial_weights,
                        .first = range.first,
                        .uses_checkpoints = arguments.range_of_steps.has_value()});
  std::string wrong;
  int checked = 0;
  run_collectively(job.world, [&] {
    with_disk(job.world, "the reading of the checkpoints", job.world.rank() == 0,
              [&] { wrong = wrong_checkpoint(run, *chain, replayed, checked); });
  });
  std::int64_t is_wrong = wrong.empty() ? 0 : 1;
  job.world.sum(std::span(&is_wrong, 1));
  if (is_wrong > 0) {
    job.print(fmt::format("{} is not what it claims: {}\n", escaped(run.string()), escaped(wrong)));
    return static_cast<int>(ExitCode::failure);
  }
  const Chain none;
  Comparison comparison(chain ? *chain : none, range.last, replayed.plan());
  replayed.replay(comparison, [&] { return job.world.rank() == 0 && comparison.is_done(); });
  const auto& difference = comparison.difference();
  const std::int64_t replays = comparison.step() - replayed.first_step();
  if (difference && comparison.starts_wrong() && replayed.first_step() > 0)
    wrong = fmt::format("{} does not hold the weights of its step", replayed.start_text());
  else if (difference)
    wrong = difference->text();
  else if (job.world.rank() == 0 && comparison.step() < range.last)
    wrong =
        fmt::format("the replay ends after step {}, the chain after step {}", comparison.step(), range.last);
  if (!wrong.empty())
    job.print(fmt::format("{} is not what it claims: {}\n", escaped(run.string()), escaped(wrong)));
  else
    job.print(fmt::format("{} is what it claims: {} replayed from {}, {} compared\n", escaped(run.string()),
                          counted(replays, "step"), escaped(replayed.start_text()),
                          counted(checked, "checkpoint")));
  is_wrong = wrong.empty() ? 0 : 1;
  job.world.sum(std::span(&is_wrong, 1));
  return is_wrong > 0 ? static_cast<int>(ExitCode::failure) : 0;
}

}  // namespace trainer
