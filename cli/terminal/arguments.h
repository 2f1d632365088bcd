#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/math/engine.h"
#include "engine/parallel/sharding.h"
#include "models/planning/link_cost.h"

namespace trainer {

/// Threads of one process.
inline constexpr int kMaxThreads = 1024;

enum class Verb {
  message,
  train,
  new_config,
  check,
  config,
  summary,
  plan,
  forecast,
  time,
  schema,
  completion,
  info,
  eval,
  predict,
  generate,
  export_model,
  fetch,
  pack,
  report,
  compare,
  sweep,
  cv,
  lr_find,
  verify,
  bisect,
  bundle
};

enum class PredictionFormat { best, json, csv, npy };
enum class ExportFormat { onnx, c, npz, safetensors, hf, gguf };
enum class ProgressMode { automatic, bar, plain, json, none };

/// Data ranks x model ranks.
struct MeshShape {
  int data = 1, model = 1;
};

/// Of --steps A..B, counted from 1.
struct StepRange {
  std::int64_t first = 1, last = 1;
};

/// Where a page is served.
struct LiveAddress {
  std::string host = "127.0.0.1";
  int port = 0;  ///< 0: any that is free
};

/// Of commands that train a config several times.
struct SearchArguments {
  int ranks = 0;             ///< of each trial; 0: no launcher
  std::string method;        ///< "random", "grid", "halving"; empty: by the spaces
  std::int64_t trials = 0;   ///< 0: not given
  int jobs = 1;              ///< trials at a time
  std::int64_t seconds = 0;  ///< within which the search ends; 0: not given
  std::uint64_t seed = 1;    ///< of the trials
  bool is_seeded = false;    ///< by --seed
  int folds = 0, seeds = 0;  ///< of cv; 0: not given
};

/// Of lr-find: the learning rate rises from the one to the other.
struct RangeArguments {
  double from = 1e-6, to = 10;
  std::int64_t steps = 100;
};

/// The command line, checked as far as possible without the files.
struct Arguments {
  Verb verb = Verb::train;
  std::string message;             ///< of --help or --version
  std::vector<std::string> words;  ///< the whole command line, the program's name first

  /// A config and others that change its keys; check: configs; or run directories or checkpoints, and for
  /// predict inputs.
  std::vector<std::string> files;

  int ranks = 0;     ///< of -n; 0: not given
  int restarts = 0;  ///< how often to resume after the loss of a process
  bool datapar = false, modelpar = false;
  std::optional<MeshShape> mesh;
  bool chooses_mesh = false;  ///< --mesh auto
  int ranks_per_node = 0;
  int threads = 0, workers = 0;  ///< of each process; 0: not given
  Engine engine = Engine::automatic;
  std::string engine_table;       ///< the file of --engine; empty: `engine`
  std::string engine_table_text;  ///< what it holds, once choose_engine_of() has read it
  Sharding sharding = Sharding::state;
  std::int64_t bucket = 0;  ///< KiB of gradients; 0: not given

  std::vector<std::string> overrides;  ///< of -s and --seed
  std::string out, name;
  std::string initial_weights;
  std::string weights_of_step_0;  ///< --init of a run that resumes by itself, maybe without a checkpoint
  bool resume = false;
  std::int64_t walltime = 0;  ///< seconds within which the run has to end; 0: not given
  double until = 1;           ///< of the steps, the share after which a run stops
  ProgressMode progress = ProgressMode::automatic;
  bool quiet = false, verbose = false;
  bool profile = false;                     ///< of train
  std::optional<LiveAddress> live;          ///< of train
  std::string split;                        ///< of eval; empty: the test samples, else those of validation
  std::vector<std::string> given;           ///< of eval: files of other samples
  bool runs_programs = false;               ///< of eval: those among the metrics
  int steps = 50;                           ///< of time, as trace
  std::optional<StepRange> range_of_steps;  ///< of verify
  std::string trace;                        ///< the file of events; empty: none
  std::string engines;                      ///< of time: the table of engines to write; empty: none
  bool tensorboard = false;                 ///< of report
  bool gradients = false;                   ///< of check
  bool minimal = false;                     ///< of config
  bool merge = false;                       ///< of check: `files` are one config
  std::string html;                         ///< of compare: the page's file; empty: none
  bool json = false;                        ///< of compare and plan
  PredictionFormat prediction_format = PredictionFormat::best;
  ExportFormat export_format = ExportFormat::onnx;
  int top = 0;                       ///< of predict: the likeliest classes alone; 0: not given
  std::optional<double> threshold;   ///< of predict: a label with a higher probability is present
  std::string id;                    ///< of predict: the column of a table that holds ids
  std::string array;                 ///< of predict: the array of an archive
  std::vector<std::string> prompts;  ///< of generate, as all until temperature
  std::string prompt_file;           ///< a prompt a line; "-": standard input
  std::vector<std::string> stops;
  std::int64_t tokens = 500, top_k = 0;
  double temperature = 0.8, top_p = 1;
  std::vector<int> planned_ranks;  ///< -n of plan (one) and forecast
  std::optional<LinkCost> link;    ///< between hosts
  double rate = 0;                 ///< GFLOP/s of a thread; 0: measured
  std::int64_t memory = 0;         ///< bytes of a host; 0: of this machine
  bool weak = false, csv = false;  ///< of forecast, as svg
  std::string svg;
  SearchArguments search;
  RangeArguments range;
  bool list = false;              ///< of fetch: the names of datasets
  std::int64_t shard_size = 256;  ///< of pack: MiB
  std::string mirror;             ///< of fetch: the address that is tried first
  std::string shell;              ///< of completion: "bash", "zsh", "fish" or "man"
  std::string kind;               ///< of new: what the config trains
  std::string model;              ///< of new: a directory of Hugging Face; empty: none
  bool keys = false;              ///< of schema: the reference for people instead of the JSON Schema
};

/// `words`: the program's name and its arguments. Error(usage) suggests the nearest flag or command.
Arguments parse_arguments(const std::vector<std::string>& words);

/// The mesh of `ranks` ranks. Error(ranks) if they do not form the one that was asked for, or if there are
/// several ranks without a mode.
MeshShape mesh_of(const Arguments& arguments, int ranks);

/// "predict"
std::string name_of(Verb verb);

/// "native", as --engine takes it.
const char* name_of(Engine engine);

}  // namespace trainer
