#include "cli/terminal/command_flags.h"
#include "cli/terminal/validators.h"

// Commands that predict a run without running it.
namespace trainer {

void CommandFlags::add_link(CLI::App& command, const std::string& use) {
  command
      .add_option(
          "--link", texts_.link,
          "Link of each host" + use +
              ": BANDWIDTH,LATENCY, as 10Gbps,20us (the default); a third time is what a message costs "
              "its sender (default: 1us), a fourth what a megabyte takes from computing (default: 0us)")
      ->type_name("LINK");
}

void CommandFlags::add_planning(CLI::App& command) {
  command.get_option("--ranks-per-node")
      ->description("Ranks of each host (default: 1 for forecast and with --link, else all)");
  add_link(command);
  command
      .add_option("--rate", arguments_.rate,
                  "GFLOP/s of a thread over a step, as `trainer time` prints (default: measured here)")
      ->type_name("GFLOPS")
      ->check(positive_number());
}

void CommandFlags::add_plan() {
  CLI::App* plan =
      command("plan", "Print shapes, memory, messages and the predicted step time of a run on N ranks");
  add_config_files(*plan);
  plan->add_option("-n,--ranks", texts_.ranks, "Ranks to plan (default: 1); none is started")->type_name("N");
  plan->add_option("--memory", texts_.memory,
                   "Memory of a host, as 16GiB (default: what this machine grants)")
      ->type_name("BYTES");
  plan->add_flag("--json", arguments_.json, "Print the schedule of a step as JSON instead")
      ->disable_flag_override();
  add_placement(*plan);
  add_shard(*plan);
  add_planning(*plan);
  add_engine(*plan);
  add_settings(*plan);
}

void CommandFlags::add_forecast() {
  CLI::App* forecast = command("forecast", "Print the predicted speed on several numbers of ranks");
  add_config_files(*forecast);
  forecast->add_option("-n,--ranks", texts_.ranks, "Numbers of ranks: 1,2,4,...,1024; none is started")
      ->type_name("LIST")
      ->required();
  forecast->add_flag("--weak", arguments_.weak, "train.batch samples on each rank (default: on all together)")
      ->disable_flag_override();
  forecast->add_flag("--csv", arguments_.csv, "Print a comma-separated table")->disable_flag_override();
  forecast->add_option("--svg", arguments_.svg, "Write a chart, too")->type_name("FILE");
  add_placement(*forecast);
  forecast->remove_option(forecast->get_option("--mesh"));  // the command finds the best one
  add_planning(*forecast);
  add_engine(*forecast);
  add_settings(*forecast);
}

}  // namespace trainer
