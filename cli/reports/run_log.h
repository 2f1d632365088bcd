#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace trainer {

/// The content of metrics.jsonl, of a finished run or not.
struct RunLog {
  struct Row {
    std::int64_t step = 0, epoch = 0;
    bool is_training = true;     ///< else an evaluation
    std::vector<double> scores;  ///< in the order of `names`; NaN if it was not finite
    double rate = 0, examples_per_second = 0, comm_share = 0, wait_share = 0, data_share = 0, time = 0;
    double slow_rank = -1;  ///< StepReport::slow_rank; NaN: none
  };
  /// A square table of the last evaluation, or of another one.
  struct Table {
    std::string name, evaluation = "last evaluation";
    std::vector<std::vector<double>> counts;  ///< [true class][predicted class]
  };

  std::vector<std::string> names;   ///< "loss", then the metrics
  std::set<std::string> fractions;  ///< the metrics that are shown in percent
  std::string evaluation_split;     ///< "valid", "test"; empty without an evaluation
  std::vector<Row> rows;
  std::vector<Table> tables;
  std::int64_t best_step = -1, last_step = -1;  ///< where checkpoints/best and last point; -1: nowhere

  /// The evaluation of the best weights; where none were kept, the last one; null without any.
  const Row* best_evaluation() const;
  /// A value of `names[i]`: "93.33%", "0.2901".
  std::string score_text(std::size_t i, double value) const;
};

/// Reads a run directory. Skips lines that this program cannot have written.
RunLog read_run_log(const std::filesystem::path& run);

/// The confusion matrix of the best evaluation in samples.json, if it has one.
std::vector<RunLog::Table> confusion_of(const std::string& samples);

}  // namespace trainer
