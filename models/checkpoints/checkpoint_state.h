#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/training/observer.h"

namespace trainer {

/// How to recognise a file of a checkpoint.
struct FileSeal {
  std::uint64_t bytes = 0;
  std::uint32_t crc32 = 0;
  bool operator==(const FileSeal&) const = default;
};

/// The state of a run between two steps but for the values of the model and of its optimizer.
struct CheckpointState {
  static constexpr std::size_t kMaxNumbers =
      kMaxMetricSums;     ///< in one of its lists, such as the metrics' sums
  std::int64_t step = 0;  ///< steps done
  std::int64_t steps_per_epoch = 1;
  std::uint64_t seed = 1;
  std::string data;       ///< fingerprint of the files learned from
  std::string config;     ///< with every default; empty in those of earlier programs
  std::string engine;     ///< rounding_text() of the program that made it
  bool evaluated = true;  ///< what follows `step` is done too: its evaluation, its epoch's row
  double time = 0;        ///< seconds since the first step began
  double epoch_time = 0;  ///< seconds since the epoch's first step began
  StepTimes run_times, epoch_times;
  Scores epoch_sums;  ///< losses of the epoch's steps, each times its labels; labels, then the metrics' sums
  std::optional<Scores> best, last;
  std::int64_t best_step = 0;
  int best_epoch = 0;
  std::vector<double> schedule;                ///< Schedule::state()
  std::vector<double> early_stopping;          ///< EarlyStopping::state()
  std::vector<double> outliers;                ///< OutlierUpdates::state()
  int rollbacks = 0;                           ///< so far
  std::string chain;                           ///< Progress::chain
  std::vector<std::int64_t> rank_shares = {};  ///< Session::rank_shares()
  std::map<std::string, FileSeal> files;
};

/// state.json.
std::string text_of(const CheckpointState& state);
/// The reverse, of a text that is not trusted; Error(weights), which lacks the file's name, when text_of()
/// did not write it.
CheckpointState parse_checkpoint_state(std::string_view text);

}  // namespace trainer
