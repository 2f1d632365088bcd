#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "cli/search/outcome.h"
#include "engine/system/files.h"
#include "models/checkpoints/run_directory.h"

namespace trainer {

inline constexpr const char *kHalving = "halving", *kCrossValidation = "cv";

/// A trial: a training run with settings of its own.
struct Trial {
  int number = 1;
  std::vector<std::string> values;    ///< for the table, one a column
  std::vector<std::string> settings;  ///< KEY=VALUE, as -s takes them
};

/// All that a search is. It follows from the command line and the config alone.
struct SearchPlan {
  std::string kind;                   ///< "sweep", kCrossValidation
  std::string method;                 ///< of a sweep: "random", "grid", kHalving
  std::uint64_t seed = 1;             ///< of the trials
  std::vector<std::string> configs;   ///< the YAML files as the user named them, each over those before
  std::vector<std::string> settings;  ///< -s of all trials
  std::vector<std::string> spaces;    ///< -s of the spaces
  std::vector<std::string> keys;      ///< the columns of Trial::values
  std::vector<Trial> trials;

  bool is_cross_validation() const { return kind == kCrossValidation; }
};

/// The directory of a search, in which it can resume after any end: plan.json, the configuration of each
/// trial in configs/, its run directory in trials/, its output in logs/, and results.jsonl with a line for
/// each trial that ended.
class SearchFolder {
 public:
  /// Creates `out`, which must be empty or missing, or, if that is empty, `folder`/`name`, then
  /// name-2 ... `configs`: the resolved configuration of each trial. Error if that fails, which leaves
  /// nothing behind.
  SearchFolder(const std::string& out, const std::string& folder, const std::string& name,
               const SearchPlan& plan, const std::vector<std::string>& configs);
  /// Opens the directory of a search. Error(usage) if it is none, or if another process uses it.
  explicit SearchFolder(const std::filesystem::path& path);
  /// True if `path` is the directory of a search.
  static bool is_one(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return path_; }
  const SearchPlan& plan() const { return plan_; }
  std::filesystem::path config_of(const Trial& trial) const;
  std::filesystem::path run_of(const Trial& trial) const;
  std::filesystem::path log_of(const Trial& trial) const;

  /// The lines of results.jsonl, without those of ends that the machine caused: such trials run again.
  std::vector<ReadOutcome> read_outcomes(const ScoreFacts& facts) const;
  void add_outcome(const Trial& trial, const Outcome& outcome, const ScoreFacts& facts);

 private:
  void lock();
  void write_plan(const std::vector<std::string>& configs) const;
  void open_results();

  std::filesystem::path path_;
  SearchPlan plan_;
  Descriptor lock_ = Descriptor(-1);
  std::unique_ptr<LineFile> results_;
};

}  // namespace trainer
