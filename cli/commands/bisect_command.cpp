#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>

#include "cli/commands/find_run.h"
#include "cli/commands/replayed_run.h"
#include "cli/launching/collective_errors.h"
#include "cli/terminal/text.h"
#include "engine/core/escape.h"
#include "engine/parallel/wait_for_all.h"
#include "models/proof/step_difference.h"

namespace trainer {
namespace {

namespace fs = std::filesystem;

/// Keeps what a replay gives of steps [first, last].
class Recording final : public ChainListener {
 public:
  struct Step {
    ChainRecord record;
    ChainItems items;
    std::vector<std::int64_t> samples;
  };
  Recording(std::int64_t first, std::int64_t last) : first_(first), last_(last) {}

  void on_record(const ChainRecord& record, const ChainItems& items) override {
    step_ = record.step;
    if (step_ < first_ || step_ > last_) return;
    steps_.push_back({record, items, {items.samples.begin(), items.samples.end()}});
    steps_.back().items.samples = steps_.back().samples;
  }
  bool is_done() const { return step_ >= last_; }
  const std::vector<Step>& steps() const { return steps_; }

 private:
  std::int64_t first_, last_, step_ = -1;
  std::vector<Step> steps_;
};

/// What is known of two runs without a replay: they part at one of the steps [first, last]; first > last:
/// they do not.
struct Interval {
  std::int64_t first = 1, last = 0;
  std::int64_t compared = 0;  ///< steps, or with checkpoints the last one that both have
  std::array<std::optional<Chain>, 2> chains;
};

bool has_chain(const fs::path& run) {
  std::error_code ignored;
  return fs::exists(run / kChainFile, ignored);
}

bool same_weights(const fs::path& one, const fs::path& other) {
  const Checkpoint mine = read_checkpoint(one), theirs = read_checkpoint(other);
  return std::ranges::equal(mine.model, theirs.model, [](const NamedTensor& a, const NamedTensor& b) {
    return a.name == b.name &&
           std::ranges::equal(std::as_bytes(std::span(a.values)), std::as_bytes(std::span(b.values)));
  });
}

/// By binary search over the checkpoints that both have.
Interval interval_of_checkpoints(const fs::path& one, const fs::path& other) {
  const fs::path folders[] = {one / "checkpoints", other / "checkpoints"};
  const std::vector<std::int64_t> mine = checkpoint_steps(folders[0]), theirs = checkpoint_steps(folders[1]);
  std::vector<std::int64_t> both;
  std::ranges::set_intersection(mine, theirs, std::back_inserter(both));
  if (both.empty())
    throw Error(ExitCode::usage,
                fmt::format("{} and {} have no checkpoint of the same step", one.string(), other.string()),
                "train.chain: true in both runs records each step");
  const auto part = std::ranges::partition_point(both, [&](std::int64_t step) {
    const std::string name = checkpoint_name(step);
    return same_weights(folders[0] / name, folders[1] / name);
  });
  if (part == both.end()) return {.compared = both.back()};
  return {.first = part == both.begin() ? 0 : *(part - 1) + 1, .last = *part, .compared = *part};
}

Interval find_interval(const fs::path& one, const fs::path& other) {
  for (const fs::path& run : {one, other}) find_run(run);
  if (!has_chain(one) || !has_chain(other)) return interval_of_checkpoints(one, other);
  Interval interval;
  interval.chains[0] = read_chain(one);
  interval.chains[1] = read_chain(other);
  interval.compared = std::min(interval.chains[0]->last_step(), interval.chains[1]->last_step());
  if (const auto step = first_difference(*interval.chains[0], *interval.chains[1]))
    interval.first = interval.last = *step;
  return interval;
}

/// A note if a replay of a run does not repeat what its chain has; else empty.
std::string unrepeated(const fs::path& run, const std::optional<Chain>& chain, const Recording::Step& step,
                       const NetworkPlan& plan) {
  if (!chain || !chain->at(step.record.step)) return "";
  const auto difference = step_difference(*chain->at(step.record.step), step.record, step.items, plan);
  if (!difference) return "";
  return fmt::format("{} does not repeat: {}\n", escaped(run.string()), escaped(difference->text()));
}

/// The first difference of the recorded steps of two replays, and notes on each; on world rank 0.
std::string verdict(const Job& job, const Interval& interval, const Recording& one, const Recording& other,
                    const NetworkPlan& plan) {
  const fs::path first = job.arguments.files[0], second = job.arguments.files[1];
  std::string notes;
  std::optional<StepDifference> found;
  for (std::size_t i = 0; i < std::min(one.steps().size(), other.steps().size()) && !found; ++i) {
    const Recording::Step &mine = one.steps()[i], &theirs = other.steps()[i];
    notes = unrepeated(first, interval.chains[0], mine, plan) +
            unrepeated(second, interval.chains[1], theirs, plan);
    found = step_difference(mine.record, mine.items, theirs.record, theirs.items, plan);
  }
  const std::string names = fmt::format("{} and {}", escaped(first.string()), escaped(second.string()));
  if (!found && interval.chains[0]) {
    // A fault of a machine is in a chain, not in replays.
    const Recording::Step& step = one.steps().front();
    if (const auto difference = step_difference(*interval.chains[0]->at(step.record.step),
                                                *interval.chains[1]->at(step.record.step), step.items, plan))
      return fmt::format("{} part at {}\n{}", names, escaped(difference->text()), notes);
  }
  if (!found)
    return fmt::format("{} part between steps {} and {}, and their replays do not: a fault of a machine\n",
                       names, interval.first, interval.last);
  return fmt::format("{} part at {}\n{}", names, escaped(found->text()), notes);
}

}  // namespace

int bisect_command(const Job& job) {
  const std::vector<std::string>& files = job.arguments.files;
  Interval interval;
  run_collectively(job.world, [&] {
    with_disk(job.world, "the comparison of the runs", job.world.rank() == 0,
              [&] { interval = find_interval(files[0], files[1]); });
  });
  std::int64_t parts = job.world.rank() == 0 && interval.first <= interval.last ? 1 : 0;
  job.world.sum(std::span(&parts, 1));
  if (parts == 0) {
    job.print(fmt::format("{} and {} are equal up to step {}\n", escaped(files[0]), escaped(files[1]),
                          grouped(interval.compared)));
    return 0;
  }
  MeshAndThreads work(job);
  Recording one(interval.first, interval.last), other(interval.first, interval.last);
  std::string text;
  const auto replay = [&](const std::string& run, Recording& recording, const auto& then) {
    ReplayedRun replayed(job, work, {.run = run, .first = std::max<std::int64_t>(1, interval.first)});
    replayed.replay(recording, [&] { return job.world.rank() == 0 && recording.is_done(); });
    then(replayed.plan());
  };
  replay(files[0], one, [](const NetworkPlan&) {});
  replay(files[1], other, [&](const NetworkPlan& plan) {
    if (job.world.rank() == 0) text = verdict(job, interval, one, other, plan);
  });
  job.print(text);
  return static_cast<int>(ExitCode::failure);
}

}  // namespace trainer
