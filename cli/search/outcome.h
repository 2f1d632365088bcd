#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "models/training/observer.h"

namespace trainer {

/// What a search knows of its runs before they begin.
struct ScoreFacts {
  std::string split;                 ///< "valid" or "test"
  std::vector<MetricFacts> metrics;  ///< of the config; the first one decides, or the loss if there is none

  /// True if `one` is a better score than `other`; NaN is worse than any other.
  bool is_better(double one, double other) const;
  /// "test accuracy", "valid loss"
  std::string name() const;
};

/// How a trial ended.
struct Outcome {
  int code = 0;                  ///< its exit code; 130: it paused where it should
  double share = 1;              ///< of the run that it was to do
  std::string message;           ///< of a failure, one line
  std::int64_t epochs = 0;       ///< trained, the last one perhaps in part
  std::int64_t best_epoch = 0;   ///< of its best evaluation
  std::vector<double> scores{};  ///< of its best evaluation: loss, then metrics; empty if it failed

  bool has_failed() const { return scores.empty(); }
  /// By which trials are compared.
  double score() const { return scores[scores.size() > 1 ? 1 : 0]; }
};

/// What a run directory holds after its process ended with `code`. `log`: the output of the process.
Outcome outcome_of(const std::filesystem::path& run, const std::filesystem::path& log, int code, double share,
                   const ScoreFacts& facts);

/// A line of results.jsonl; and the reverse, nothing for a line that this program cannot have written.
std::string line_of(int trial, const Outcome& outcome, const ScoreFacts& facts);
struct ReadOutcome {
  int trial = 0;
  Outcome outcome;
};
std::optional<ReadOutcome> outcome_of_line(std::string_view line, const ScoreFacts& facts);

}  // namespace trainer
