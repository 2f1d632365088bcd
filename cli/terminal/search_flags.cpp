#include <limits>

#include "cli/terminal/command_flags.h"
#include "cli/terminal/validators.h"

// Commands that train a config several times.
namespace trainer {

void CommandFlags::add_search(CLI::App& command) {
  command.add_option("-n,--ranks", arguments_.search.ranks, "Train each trial on N processes")
      ->type_name("N")
      ->check(whole_number(1, kMaxRanks));
  command
      .add_option("--jobs", arguments_.search.jobs, "Trials at a time (default: 1); they divide the cores")
      ->type_name("J")
      ->check(whole_number(1, kMaxThreads));
  command
      .add_option("--time", texts_.duration,
                  "Save and stop after this time, as 30m or 1.5h; the same command on the directory resumes")
      ->type_name("TIME");
  command
      .add_option("-o,--out", arguments_.out,
                  std::string("Its directory (default: ") + (command.get_name() == "cv" ? "cv" : "sweeps") +
                      "/NAME, then NAME-2 ...)")
      ->type_name("DIR");
  command.add_option("--name", arguments_.name, "NAME of its directory (default: the config's name)")
      ->type_name("NAME");
  add_placement(command);
  add_mesh_choice(command);
  add_shard(command);
  add_engine(command);
  command.add_flag("-q,--quiet", arguments_.quiet, "Print only the result")->disable_flag_override();
}

void CommandFlags::add_sweep() {
  CLI::App* sweep = command("sweep", "Train a config with many values of its settings, and compare them");
  sweep
      ->add_option("CONFIG", arguments_.files,
                   "A YAML file, and others that change its keys; or the directory of a sweep, to resume it")
      ->required();
  add_settings(*sweep);
  sweep->get_option("--set")->description(
      "Override a key, repeatable. Values to try: a list [a,b,c], log(low,high), uniform(low,high), "
      "int(low,high)");
  sweep
      ->add_option(
          "--method", arguments_.search.method,
          "random; grid: each combination (the default for lists without --trials); halving: a third "
          "of the trials continues after a ninth and a third of the steps")
      ->type_name("METHOD")
      ->check(one_of({"random", "grid", "halving"}));
  sweep->add_option("--trials", arguments_.search.trials, "Runs to train (default: 20)")
      ->type_name("N")
      ->check(whole_number(1, kMaxRanks));
  sweep->add_option("--seed", texts_.seed, "The seed from which the trials follow (default: 1)")
      ->type_name("SEED")
      ->check(whole_number(0, std::numeric_limits<std::int64_t>::max()));
  add_search(*sweep);
}

void CommandFlags::add_cv() {
  CLI::App* cv =
      command("cv", "Train a config once for each fold of its training samples, and print the spread");
  cv->add_option("CONFIG", arguments_.files,
                 "A YAML file, and others that change its keys; or the directory of a cross-validation, to "
                 "resume it")
      ->required();
  add_settings(*cv);
  constexpr std::int64_t kMost = 100'000;
  cv->add_option("-k,--folds", arguments_.search.folds, "Folds (default: 5)")
      ->type_name("K")
      ->check(whole_number(2, kMost));
  cv->add_option("--seeds", arguments_.search.seeds,
                 "Runs of each fold, with train.seed and the next numbers; folds follow from the seed, too "
                 "(default: 1)")
      ->type_name("N")
      ->check(whole_number(1, kMost));
  add_search(*cv);
}

void CommandFlags::add_lr_find() {
  CLI::App* find =
      command("lr-find", "Train some steps with a rising learning rate, and suggest one; saves nothing");
  add_config_files(*find);
  RangeArguments& range = arguments_.range;
  find->add_option("--from", range.from, "The rate of the first step (default: 1e-6)")
      ->type_name("LR")
      ->check(positive_number());
  find->add_option("--to", range.to, "The rate of the last step (default: 10)")
      ->type_name("LR")
      ->check(positive_number());
  constexpr std::int64_t kFewest = 20;
  find->add_option("--steps", range.steps, "Steps, unless the loss diverges before (default: 100)")
      ->type_name("N")
      ->check(whole_number(kFewest, kMaxSteps));
  find->add_option("--svg", arguments_.svg, "The file of the curve (default: NAME-lr.svg)")
      ->type_name("FILE");
  add_ranks(*find);
  add_placement(*find);
  add_shard(*find);
  add_engine(*find);
  add_settings(*find);
}

}  // namespace trainer
