#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace trainer {

/// Threads of one process.
inline constexpr int kMostThreads = 1024;

enum class Verb {
  message,
  train,
  check,
  config,
  summary,
  time,
  schema,
  info,
  eval,
  predict,
  generate,
  report,
  compare
};

enum class PredictionFormat { best, json, csv, npy };
enum class ProgressMode { automatic, bar, plain, json, none };

/// Data ranks x model ranks.
struct MeshShape {
  int data = 1, model = 1;
};

/// The command line, checked as far as it can be without looking at files.
struct Arguments {
  Verb verb = Verb::train;
  std::string message;             ///< what --help or --version prints, when that was asked for
  std::vector<std::string> words;  ///< the command line as it was given, the program's name first

  std::vector<std::string>
      files;  ///< configs; of a run a directory or a checkpoint; for predict images behind it

  int ranks = 0;     ///< of -n; 0: not given
  int restarts = 0;  ///< how often to start again when a process is lost
  bool datapar = false, modelpar = false;
  std::optional<MeshShape> mesh;
  int ranks_per_node = 0;
  int threads = 0;
  std::int64_t bucket = 0;  ///< KiB of gradients; 0: not given

  std::vector<std::string> overrides;  ///< of -s, and what --seed stands for
  std::string out, name;
  std::string initial_weights;
  bool resume = false;
  std::int64_t walltime = 0;  ///< seconds after which the run must have ended; 0: not given
  ProgressMode progress = ProgressMode::automatic;
  bool quiet = false, verbose = false;
  std::string split = "test";
  int steps = 50;  ///< of time
  PredictionFormat prediction_format = PredictionFormat::best;
  std::string prompt;
  std::int64_t tokens = 500;  ///< of generate, as prompt and temperature
  double temperature = 0.8;
  bool keys = false;  ///< of schema: the reference to read instead of the JSON Schema
};

/// `words`: the program's name, then what follows it. Error(usage) names the flag or command that was
/// probably meant.
Arguments parse_arguments(const std::vector<std::string>& words);

/// The grid that so many ranks form. Error(ranks) when they do not, or when several were started without a
/// mode.
MeshShape mesh_of(const Arguments& arguments, int ranks);

/// The words as one line that a shell reads back.
std::string shell_line(const std::vector<std::string>& words);

}  // namespace trainer
