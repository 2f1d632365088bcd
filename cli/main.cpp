#include <csignal>
#include <memory>

#include "cli/commands/commands.h"
#include "cli/commands/engine_file.h"
#include "cli/commands/open_run.h"
#include "cli/commands/preflight_check.h"
#include "cli/launching/collective_errors.h"
#include "cli/launching/job_start.h"
#include "cli/launching/launch.h"
#include "cli/launching/launcher_signals.h"
#include "cli/launching/process_limits.h"
#include "cli/launching/rank_heartbeat.h"
#include "cli/launching/restart.h"
#include "cli/terminal/output.h"
#include "engine/parallel/launcher_environment.h"
#include "engine/parallel/mpi_world.h"
#include "engine/system/subnormals.h"

namespace trainer {
namespace {

int run_command(const Job& job) {
  switch (job.arguments.verb) {
    case Verb::message:
      job.print(job.arguments.message);
      return 0;
    case Verb::train:
      return train_command(job);
    case Verb::new_config:
      new_command(job);
      return 0;
    case Verb::check:
      return check_command(job);
    case Verb::config:
      config_command(job);
      return 0;
    case Verb::summary:
      summary_command(job);
      return 0;
    case Verb::plan:
      plan_command(job);
      return 0;
    case Verb::forecast:
      forecast_command(job);
      return 0;
    case Verb::time:
      time_command(job);
      return 0;
    case Verb::completion:
      completion_command(job);
      return 0;
    case Verb::schema:
      schema_command(job);
      return 0;
    case Verb::info:
      info_command(job);
      return 0;
    case Verb::eval:
      eval_command(job);
      return 0;
    case Verb::predict:
      return predict_command(job);
    case Verb::generate:
      return generate_command(job);
    case Verb::export_model:
      export_command(job);
      return 0;
    case Verb::fetch:
      fetch_command(job);
      return 0;
    case Verb::pack:
      pack_command(job);
      return 0;
    case Verb::report:
      report_command(job);
      return 0;
    case Verb::compare:
      compare_command(job);
      return 0;
    case Verb::sweep:
      return sweep_command(job);
    case Verb::cv:
      return cv_command(job);
    case Verb::lr_find:
      lr_find_command(job);
      return 0;
    case Verb::verify:
      return verify_command(job);
    case Verb::bisect:
      return bisect_command(job);
    case Verb::bundle:
      bundle_command(job);
      return 0;
  }
  return 0;
}

int run(Communicator& world, const std::vector<std::string>& words,
        std::chrono::steady_clock::time_point start) {
  Arguments arguments;
  run_collectively(world, [&] {
    arguments = parse_arguments(words);
    choose_engine_of(arguments);
    if (is_launched()) return apply_restart(arguments, world.size());
    if (arguments.ranks == 0) return;
    if (launched_by_environment().ranks > 0)
      throw Error(ExitCode::ranks, "--ranks inside an MPI job",
                  "the launcher has already started the processes: remove -n");
    check_before_launch(arguments);
  });
  if (arguments.verb != Verb::train) restore_interrupts();
  if (arguments.ranks > 0 && !is_launched()) return launch(arguments, start);
  preflight_check(world, program_facts(arguments));
  const int code = run_command({arguments, world, job_start(start)});
  // A full disk under standard output shows only now. A run that stopped and saved keeps its code.
  if (!flush_output() && code == 0) throw Error(ExitCode::failure, "cannot write standard output");
  return code;
}

/// In a process that `trainer -n` started. Only the first ranks send heartbeats: a few are enough.
bool sends_heartbeats() {
  constexpr int kMaxSenders = 16;
  return is_launched() && launched_by_environment().rank < kMaxSenders;
}

}  // namespace
}  // namespace trainer

int main(int argc, char** argv) {
  using namespace trainer;
  const auto start = std::chrono::steady_clock::now();
  open_standard_streams();
  flush_subnormals();
  // A file that passes the limit (ulimit -f) is then an error like a full disk, and no silent death.
  std::signal(SIGXFSZ, SIG_IGN);
  // Where a parent ignores SIGCHLD (`trap '' CHLD` of bash), no process gets exit codes of its children.
  std::signal(SIGCHLD, SIG_DFL);
  std::unique_ptr<RankHeartbeat> heartbeat;
  PrivateFolder shared_memory;
  std::unique_ptr<Communicator> world = solo();
  try {
    prepare_stacks();
    if (is_launched()) prepare_rank_for_signals();
    if (sends_heartbeats()) heartbeat = std::make_unique<RankHeartbeat>();
    shared_memory = join_shared_memory_folder();
    world = start_world();
    return run(*world, {argv, argv + argc}, start);
  } catch (...) {
    end_after_failure(*world);
  }
}
