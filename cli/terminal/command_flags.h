#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

#include "cli/terminal/arguments.h"

namespace trainer {

/// The commands and their flags, bound to the members of an Arguments and to texts that parse_arguments()
/// converts when it knows the whole line. A new command is one add_NAME().
class CommandFlags {
 public:
  struct Texts {
    std::string file, mesh, walltime, live, duration, progress = "auto", engine = "auto", shard = "state",
                                                      format = "onnx";
    std::string ranks, link, memory;  ///< of plan and forecast
    std::string steps;                ///< of verify
    std::int64_t seed = 0;
    bool async = false;
  };

  /// `arguments` must outlive it.
  explicit CommandFlags(Arguments& arguments);

  CLI::App& app() { return app_; }
  const CLI::App& app() const { return app_; }
  const Texts& texts() const { return texts_; }

 private:
  static constexpr std::int64_t kMaxRanks = 1'000'000, kMaxSteps = 1'000'000,
                                kMaxBucket = std::int64_t{1} << 40, kLargestShard = 1 << 20;

  CLI::App* command(const std::string& name, const std::string& help);

  // training_flags.cpp
  void add_train();
  void add_new();
  void add_check();
  void add_config();
  void add_summary();
  void add_time();
  // search_flags.cpp
  void add_sweep();
  void add_cv();
  void add_lr_find();
  // planning_flags.cpp
  void add_plan();
  void add_forecast();
  // run_flags.cpp
  void add_eval();
  void add_predict();
  void add_generate();
  void add_export();
  void add_report();
  void add_compare();
  // proof_flags.cpp
  void add_verify();
  void add_bisect();
  void add_bundle();
  // command_flags.cpp
  void add_fetch();
  void add_pack();
  void add_schema();
  void add_completion();

  // Flags that several commands share.
  void add_config_files(CLI::App& command);
  void add_settings(CLI::App& command);
  void add_ranks(CLI::App& command);
  void add_search(CLI::App& command);
  void add_placement(CLI::App& command);
  /// After add_placement(): for commands that choose the mesh by a forecast.
  void add_mesh_choice(CLI::App& command);
  void add_threads(CLI::App& command);
  void add_shard(CLI::App& command);
  void add_engine(CLI::App& command);
  /// `use`: " for --mesh auto"
  void add_link(CLI::App& command, const std::string& use = "");
  /// After add_placement().
  void add_planning(CLI::App& command);

  Arguments& arguments_;
  Texts texts_;
  CLI::App app_{
      "Trains the neural network that a YAML file describes, in one process or in several under MPI."};
};

}  // namespace trainer
