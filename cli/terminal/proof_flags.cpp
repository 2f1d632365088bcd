#include "cli/terminal/command_flags.h"

// Commands for runs with train.chain.
namespace trainer {

void CommandFlags::add_verify() {
  CLI::App* verify = command(
      "verify", "Replay a run, and compare each step with its chain; 1 if the run is not what it claims");
  verify->add_option("RUN", texts_.file, "A run directory with chain.jsonl, or a bundle")->required();
  verify
      ->add_option("--steps", texts_.steps,
                   "Replay steps A to B only, from the nearest checkpoint before them (default: all steps)")
      ->type_name("A..B");
  verify
      ->add_option("--init", arguments_.initial_weights, "The file of initial weights that the run was given")
      ->type_name("FILE");
  add_ranks(*verify);
  add_placement(*verify);
  add_shard(*verify);
  add_engine(*verify);
  add_settings(*verify);
}

void CommandFlags::add_bisect() {
  CLI::App* bisect = command(
      "bisect", "Find the first step at which two exact runs part, and the layer and tensor; 1 if they part");
  bisect->add_option("RUN", arguments_.files, "Two run directories")->required()->expected(2);
  add_ranks(*bisect);
  add_placement(*bisect);
  add_shard(*bisect);
  add_engine(*bisect);
}

void CommandFlags::add_bundle() {
  CLI::App* bundle = command("bundle", "Copy what an auditor needs to verify a run into a directory");
  bundle->add_option("RUN", texts_.file, "A run directory with chain.jsonl")->required();
  bundle->add_option("-o,--out", arguments_.out, "The directory (default: RUN-bundle)")->type_name("DIR");
}

}  // namespace trainer
