#include <limits>

#include "cli/terminal/argument_words.h"
#include "cli/terminal/command_flags.h"
#include "cli/terminal/validators.h"

// Commands that take a config and train, or show what it means.
namespace trainer {

void CommandFlags::add_train() {
  CLI::App* train = command("train", "Train the network of a config");
  train
      ->add_option("CONFIG", arguments_.files,
                   "A YAML file, and others that change its keys; or a run directory or one of its "
                   "checkpoints, to resume the run")
      ->required();
  add_ranks(*train);
  add_placement(*train);
  add_mesh_choice(*train);
  add_link(*train, " for --mesh auto");
  add_shard(*train);
  add_engine(*train);
  add_settings(*train);
  train->add_option("--seed", texts_.seed, "Same as -s train.seed=SEED")
      ->type_name("SEED")
      ->check(whole_number(0, std::numeric_limits<std::int64_t>::max()));
  train
      ->add_flag(
          "--async", texts_.async,
          "Same as --datapar -s train.async={}: each process updates the parameters by its own gradients, "
          "within a bound of their staleness")
      ->disable_flag_override();
  train
      ->add_option("--bucket", arguments_.bucket,
                   "KiB of gradients in one message (default: chosen for the model and a 10 Gbit/s link)")
      ->type_name("KIB")
      ->check(whole_number(1, kMaxBucket));
  train
      ->add_option("--restarts", arguments_.restarts,
                   "With -n: after a lost process, resume from the newest checkpoint or snapshot without it, "
                   "up to K times")
      ->type_name("K")
      ->check(whole_number(0, kMaxRanks));
  train->add_option("-o,--out", arguments_.out, "Run directory (default: runs/NAME, then NAME-2 ...)")
      ->type_name("DIR");
  train->add_option("--name", arguments_.name, "NAME of the run directory (default: the config's name)")
      ->type_name("NAME");
  train->add_option("--init", arguments_.initial_weights, "Start from the weights of a safetensors file")
      ->type_name("FILE");
  train->add_flag("--resume", arguments_.resume, "Resume the run of a run directory")
      ->disable_flag_override();
  train->add_option("--walltime", texts_.walltime, "Save and stop early enough to end within this time")
      ->type_name("HH:MM:SS");
  train
      ->add_option("--until", arguments_.until,
                   "Save and stop after the evaluation with which this share of the steps is done")
      ->type_name("SHARE")
      ->check(positive_number());
  train->add_option("--progress", texts_.progress, "auto, bar, plain, json (one object a line) or none")
      ->type_name("HOW")
      ->check(one_of(names_of(kProgressModes)));
  train
      ->add_option(
          "--live", texts_.live,
          "Serve the report while the run lasts, to this machine alone unless a HOST such as 0.0.0.0 is "
          "given; port 0: any that is free")
      ->type_name("[HOST:]PORT");
  train
      ->add_flag("--profile", arguments_.profile,
                 "Write when each layer ran in 50 steps on each rank and thread to trace.json of the run "
                 "directory, for Perfetto")
      ->disable_flag_override();
  CLI::Option* quiet =
      train->add_flag("-q,--quiet", arguments_.quiet, "Print only the result")->disable_flag_override();
  train
      ->add_flag("-v,--verbose", arguments_.verbose,
                 "Print more about the machine, the data and how gradients are sent")
      ->disable_flag_override()
      ->excludes(quiet);
  train->footer(
      "Columns of the table: loss and metrics of the training samples, before each update, and of the test "
      "or validation samples after it; examples/s: training samples a second; shares of the time: comm: "
      "messages between ranks, wait: for the slowest rank, data: loading samples; *: the best epoch so far.");
}

void CommandFlags::add_new() {
  CLI::App* one =
      command("new", "Print a short commented config that fits some data: trainer new mlp > my.yaml");
  one->add_option("KIND", arguments_.kind,
                  "mlp, convnet, resnet, lstm, gpt; table: an mlp for a table; folder: a convnet for images")
      ->required()
      ->check(one_of(kTemplates));
  one->add_option("DATA", texts_.file,
                  "A table (CSV), a folder of class folders with images, a text, or a public dataset by its "
                  "name (default: data that needs no file)");
  one->add_option(
         "--from", arguments_.model,
         "Of gpt: a directory of Hugging Face with GPT-2 or Llama, whose weights and tokenizer it takes")
      ->type_name("DIR");
}

void CommandFlags::add_check() {
  CLI::App* check = command("check", "Print every mistake in configs; of data files, read only the headers");
  check->add_option("CONFIG", arguments_.files, "YAML files")->required();
  check
      ->add_flag("--gradients", arguments_.gradients,
                 "Compare backward with differences of the loss, parameter by parameter, on a few samples; "
                 "exit code 1 if one is wrong")
      ->disable_flag_override();
  check->add_flag("--merge", arguments_.merge, "They are one config: a file changes keys of those before it")
      ->disable_flag_override();
  add_settings(*check);
}

void CommandFlags::add_config() {
  CLI::App* config = command("config", "Print the resolved YAML with every default");
  add_config_files(*config);
  config
      ->add_flag("--minimal", arguments_.minimal,
                 "Print only what differs from the defaults, with the vars and blocks of layers")
      ->disable_flag_override();
  add_settings(*config);
}

void CommandFlags::add_summary() {
  CLI::App* summary = command("summary", "Print layers, shapes, parameters, operations and memory per rank");
  add_config_files(*summary);
  add_ranks(*summary);
  add_placement(*summary);
  add_mesh_choice(*summary);
  add_link(*summary, " for --mesh auto");
  add_settings(*summary);
}

void CommandFlags::add_time() {
  CLI::App* time = command("time", "Print the time of each layer in a training step; saves nothing");
  add_config_files(*time);
  time->add_option("--steps", arguments_.steps, "Steps to time, after N steps of warm-up (default: 50)")
      ->type_name("N")
      ->check(whole_number(1, kMaxSteps));
  time->add_option("--trace", arguments_.trace,
                   "Write when each layer ran on each rank and thread to a file for Perfetto")
      ->type_name("FILE");
  time->add_option("--engines", arguments_.engines,
                   "Time both engines for each shape of matrix product in a step instead, and write the "
                   "faster ones to a file for --engine")
      ->type_name("FILE")
      ->check(not_empty())
      ->excludes("--trace");
  add_ranks(*time);
  add_placement(*time);
  add_mesh_choice(*time);
  add_link(*time, " for --mesh auto");
  add_shard(*time);
  add_engine(*time);
  time->get_option("--engine")->excludes("--engines");
  add_settings(*time);
}

}  // namespace trainer
