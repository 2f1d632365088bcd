#include "cli/terminal/command_flags.h"

#include <fmt/format.h>

#include <sstream>

#include "cli/terminal/argument_words.h"
#include "cli/terminal/text.h"
#include "cli/terminal/validators.h"
#include "cli/terminal/version.h"
#include "datasets/fetching/public_set.h"

namespace trainer {
namespace {

/// Help in lines of 80 columns.
class HelpFormatter : public CLI::Formatter {
 public:
  HelpFormatter() { column_width(kFlags); }
  std::string make_option_desc(const CLI::Option* option) const override {
    return in_lines(Formatter::make_option_desc(option), 0, kTextColumns - kFlags);
  }
  std::string make_subcommand(const CLI::App* command) const override {
    std::ostringstream line;
    CLI::detail::format_help(line, command->get_name(),
                             in_lines(command->get_description(), 0, kTextColumns - kCommands), kCommands);
    return line.str();
  }
  std::string make_description(const CLI::App* command) const override {
    return in_lines(Formatter::make_description(command));
  }
  std::string make_footer(const CLI::App* command) const override {
    return in_lines(Formatter::make_footer(command));
  }

 private:
  static constexpr std::size_t kFlags = 34, kCommands = 14;  ///< columns before their descriptions
};

}  // namespace

CommandFlags::CommandFlags(Arguments& arguments) : arguments_(arguments) {
  app_.name("trainer");
  app_.formatter(std::make_shared<HelpFormatter>());  // commands inherit it
  app_.set_version_flag("--version", fmt::format("trainer {}", version()), "Print the version and stop");
  app_.require_subcommand(1);
  // In the order of --help.
  add_train();
  add_new();
  add_check();
  add_config();
  add_summary();
  add_plan();
  add_forecast();
  add_time();
  add_sweep();
  add_cv();
  add_lr_find();
  add_eval();
  add_predict();
  add_generate();
  add_export();
  add_fetch();
  add_pack();
  add_report();
  add_compare();
  add_verify();
  add_bisect();
  add_bundle();
  add_schema();
  add_completion();
  command("info", "Print cores, instructions, engines, MPI, versions and the link of hosts");
  // Last, because commands inherit it.
  app_.footer(
      "`train` may be left out: trainer configs/mnist-small.yaml.\n"
      "`trainer COMMAND --help` shows a command's flags.\n"
      "Exit codes: 0 done, 1 failure, 2 YAML or flags, 3 data, 4 number of processes, 5 diverged, 6 "
      "weights, 7 a process was lost, 130 stopped with a checkpoint.");
}

CLI::App* CommandFlags::command(const std::string& name, const std::string& help) {
  CLI::App* command = app_.add_subcommand(name, help);
  command->allow_extras();  // check_leftovers() reports them, with a suggestion
  return command;
}

void CommandFlags::add_config_files(CLI::App& command) {
  command.add_option("CONFIG", arguments_.files, "A YAML file, and others that change its keys")->required();
}

void CommandFlags::add_settings(CLI::App& command) {
  command
      .add_option("-s,--set", arguments_.overrides,
                  "Override a key, repeatable: -s train.epochs=1 -s model.layers[0].conv.kernel=3")
      ->type_name("KEY=VALUE")
      ->expected(1)
      ->allow_extra_args(false)
      ->take_all();
}

void CommandFlags::add_ranks(CLI::App& command) {
  command.add_option("-n,--ranks", arguments_.ranks, "Start N processes here (runs the MPI launcher)")
      ->type_name("N")
      ->check(whole_number(1, kMaxRanks));
}

void CommandFlags::add_placement(CLI::App& command) {
  command.add_flag("-p,--datapar", arguments_.datapar, "Divide each batch among the processes")
      ->disable_flag_override();
  command
      .add_flag("-m,--modelpar", arguments_.modelpar, "Divide dense and attention layers among the processes")
      ->disable_flag_override();
  command.add_option("--mesh", texts_.mesh, "Both: D data ranks x M model ranks")->type_name("DxM");
  command
      .add_option("--ranks-per-node", arguments_.ranks_per_node,
                  "Treat K consecutive processes as a node (for tests)")
      ->type_name("K")
      ->check(whole_number(1, kMaxRanks));
  add_threads(command);
  command
      .add_option("--workers", arguments_.workers,
                  "Threads of each process that have rows and gradients of their own (default: all); the "
                  "others compute parts of layers")
      ->type_name("W")
      ->check(whole_number(1, kMaxThreads));
}

void CommandFlags::add_mesh_choice(CLI::App& command) {
  command.get_option("--mesh")->description(
      "Both: D data ranks x M model ranks; auto: the mesh with the least predicted time of a step");
}

void CommandFlags::add_threads(CLI::App& command) {
  command
      .add_option("--threads", arguments_.threads,
                  "Threads of each process (default: OMP_NUM_THREADS, else cores / processes)")
      ->type_name("T")
      ->check(whole_number(1, kMaxThreads));
}

void CommandFlags::add_shard(CLI::App& command) {
  command
      .add_option(
          "--shard", texts_.shard,
          "What data ranks keep once over all of them: state (of the optimizer; the default), gradients "
          "too, or parameters too")
      ->type_name("WHAT")
      ->check(one_of(names_of(kShardingWords)));
}

void CommandFlags::add_engine(CLI::App& command) {
  command
      .add_option(
          "--engine", texts_.engine,
          "Library for matrix products: native (kernels of this program), openblas, auto (default: native "
          "on processors with AVX2), or by shape: a file of `trainer time --engines`")
      ->type_name("ENGINE|FILE")
      ->check(one_of_or_file(names_of(kEngines), "a file of `trainer time --engines`"));
}

void CommandFlags::add_fetch() {
  CLI::App* fetch = command("fetch", "Download public datasets and check their SHA-256");
  std::vector<std::string> names;
  for (const PublicSet& set : public_sets()) names.push_back(set.name);
  fetch->add_option("NAMES", arguments_.files, "Datasets")->check(proposed(names));
  fetch
      ->add_option("--mirror", arguments_.mirror,
                   "An address below which the files lie under their names; it is tried first")
      ->type_name("URL")
      ->check(not_empty());
  fetch->add_flag("--list", arguments_.list, "Print the names and sizes of all datasets")
      ->disable_flag_override();
  fetch
      ->add_option(
          "--to", arguments_.out,
          "The data directory (default: TRAINER_DATA, else ~/.cache/trainer): where configs find datasets")
      ->type_name("DIR");
}

void CommandFlags::add_pack() {
  CLI::App* pack = command("pack", "Write a dataset as tar shards, which WebDataset reads, too");
  add_config_files(*pack);
  pack->add_option("-o,--out", arguments_.out, "The new directory of the shards")
      ->type_name("DIR")
      ->required()
      ->check(not_empty());
  pack->add_option("--shard-size", arguments_.shard_size, "The largest size of a shard in MiB (default: 256)")
      ->type_name("MIB")
      ->check(whole_number(1, kLargestShard));
  add_settings(*pack);
}

void CommandFlags::add_completion() {
  command("completion", "Print the completion of a shell, or the man page")
      ->add_option("SHELL", arguments_.shell, "bash, zsh, fish, or man")
      ->required()
      ->check(one_of({"bash", "zsh", "fish", "man"}));
}

void CommandFlags::add_schema() {
  CLI::App* schema =
      command("schema", "Print the JSON Schema of the YAML (draft-07), or all keys as Markdown");
  schema->add_flag("--keys", arguments_.keys, "Print the reference of all keys (docs/keys.md)")
      ->disable_flag_override();
}

}  // namespace trainer
