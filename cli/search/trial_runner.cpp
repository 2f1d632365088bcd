#include "cli/search/trial_runner.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>

#include <algorithm>
#include <cerrno>
#include <deque>
#include <list>
#include <thread>

#include "engine/system/cores.h"
#include "engine/system/stop_signals.h"

namespace trainer {
namespace {

namespace fs = std::filesystem;

constexpr double kRounding = 1e-9;  // of shares

/// The same number of cores for each of `slots` trials at a time; empty lists if there are too few.
std::vector<std::vector<Core>> divided_cores(int slots) {
  std::vector<std::vector<Core>> parts(static_cast<std::size_t>(slots));
  const std::vector<Core> cores = usable_cores();
  const std::size_t each = cores.size() / parts.size();
  if (slots == 1 || granted_cores(cores) < std::ssize(cores)) return parts;
  for (std::size_t slot = 0; slot < parts.size(); ++slot)
    parts[slot].assign(cores.begin() + static_cast<std::ptrdiff_t>(slot * each),
                       cores.begin() + static_cast<std::ptrdiff_t>((slot + 1) * each));
  return parts;
}

/// After the loss of this program's process its trials may hold their runs while they save.
void wait_for_lock(const fs::path& run) {
  const Descriptor lock(::open((run / "lock").c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (lock.number() >= 0 && ::flock(lock.number(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK &&
         std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
}

}  // namespace

TrialRunner::TrialRunner(SearchFolder& folder, const ScoreFacts& facts, Options options)
    : folder_(folder), facts_(facts), options_(std::move(options)), cores_(divided_cores(options_.jobs)) {
  for (ReadOutcome& read : folder_.read_outcomes(facts_))
    outcomes_[read.trial].push_back(std::move(read.outcome));
}

std::optional<Outcome> TrialRunner::outcome(const Trial& trial) const {
  const auto found = outcomes_.find(trial.number);
  return found == outcomes_.end() ? std::nullopt : std::optional(found->second.back());
}

Outcome TrialRunner::outcome_at(const Trial& trial, double share) const {
  const std::vector<Outcome>& all = outcomes_.at(trial.number);
  const auto found =
      std::ranges::find_if(all, [&](const Outcome& one) { return one.share >= share - kRounding; });
  return found == all.end() ? all.back() : *found;
}

bool TrialRunner::is_done(const Trial& trial, double share) const {
  const auto last = outcome(trial);
  // A run that has ended is done at any share.
  return last && (last->code != static_cast<int>(ExitCode::interrupted) || last->share >= share - kRounding);
}

bool TrialRunner::should_stop() const {
  return StopSignals::received() ||
         (options_.deadline && std::chrono::steady_clock::now() >= *options_.deadline);
}

TrialRunner::Running TrialRunner::start(const Trial& trial, double share, int slot) const {
  std::vector<std::string> words{"train"};
  const fs::path run = folder_.run_of(trial);
  wait_for_lock(run);
  if (fs::exists(run / "config.yaml")) {
    words.push_back(run.string());
  } else {
    words.insert(words.end(), {folder_.config_of(trial).string(), "--out", run.string()});
  }
  words.insert(words.end(), {"--progress", "plain"});
  words.insert(words.end(), options_.flags.begin(), options_.flags.end());
  if (share < 1) words.insert(words.end(), {"--until", fmt::format("{}", share)});
  return {.trial = trial,
          .slot = slot,
          .process = ChildProcess({.words = words,
                                   .output = folder_.log_of(trial),
                                   .cores = cores_[static_cast<std::size_t>(slot)]})};
}

bool TrialRunner::run(const std::vector<Trial>& trials, double share) {
  std::deque<Trial> waiting;
  for (const Trial& trial : trials)
    if (!is_done(trial, share)) waiting.push_back(trial);
  std::list<Running> running;
  std::vector<int> free_slots;
  for (int slot = options_.jobs; slot-- > 0;) free_slots.push_back(slot);
  bool is_stopping = false;
  while (!running.empty() || (!waiting.empty() && !is_stopping)) {
    if (!is_stopping && should_stop()) {
      is_stopping = true;
      for (const Running& one : running) one.process.ask_to_stop();
    }
    while (!is_stopping && !waiting.empty() && !free_slots.empty()) {
      running.push_back(start(waiting.front(), share, free_slots.back()));
      waiting.pop_front();
      free_slots.pop_back();
    }
    bool has_ended = false;
    for (auto one = running.begin(); one != running.end();) {
      const std::optional<int> code = one->process.poll();
      if (!code) {
        ++one;
        continue;
      }
      has_ended = true;
      free_slots.push_back(one->slot);
      // A trial that a signal stopped has not ended, unless it had finished by then.
      const bool is_paused = *code == static_cast<int>(ExitCode::interrupted);
      if (*code == 0 || (!is_stopping && (!is_paused || share < 1))) {
        const Outcome outcome =
            outcome_of(folder_.run_of(one->trial), folder_.log_of(one->trial), *code, share, facts_);
        folder_.add_outcome(one->trial, outcome, facts_);
        outcomes_[one->trial.number].push_back(outcome);
        if (options_.on_end) options_.on_end(one->trial, outcome);
      }
      one = running.erase(one);
    }
    if (!has_ended) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return std::ranges::all_of(trials, [&](const Trial& trial) { return is_done(trial, share); });
}

}  // namespace trainer
