#include <fmt/format.h>

#include <csignal>
#include <memory>

#include "cli/commands/commands.h"
#include "cli/commands/open_run.h"
#include "cli/commands/preflight_check.h"
#include "cli/launching/collective_errors.h"
#include "cli/launching/launch.h"
#include "cli/launching/restart.h"
#include "engine/parallel/launcher.h"
#include "engine/parallel/mpi_world.h"
#include "engine/system/subnormals.h"

namespace trainer {

void Job::print(std::string_view text) const {
  if (world.rank() == 0) fmt::print("{}", text);
}

void Job::warn(std::string_view text) const {
  if (world.rank() == 0) fmt::print(stderr, "{}", text);
}

namespace {

int run_command(const Job& job) {
  switch (job.arguments.verb) {
    case Verb::message:
      job.print(job.arguments.message);
      return 0;
    case Verb::train:
      return train_command(job);
    case Verb::check:
      check_command(job);
      return 0;
    case Verb::config:
      config_command(job);
      return 0;
    case Verb::summary:
      summary_command(job);
      return 0;
    case Verb::time:
      time_command(job);
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
      predict_command(job);
      return 0;
    case Verb::generate:
      generate_command(job);
      return 0;
    case Verb::report:
      report_command(job);
      return 0;
    case Verb::compare:
      compare_command(job);
      return 0;
  }
  return 0;
}

int run(Communicator& world, const std::vector<std::string>& words,
        std::chrono::steady_clock::time_point start) {
  Arguments arguments;
  run_collectively(world, [&] {
    arguments = parse_arguments(words);
    if (was_launched()) return apply_restart(arguments, world.size());
    if (arguments.ranks == 0) return;
    if (launched_by_environment().ranks > 0)
      throw Error(ExitCode::ranks, "--ranks inside an MPI job",
                  "the launcher has started the processes: leave -n out");
    check_before_launch(arguments);
  });
  if (arguments.ranks > 0 && !was_launched()) return launch(arguments, start);
  agree(world, program_facts(arguments));
  const int code = run_command({arguments, world, start_of_job(start)});
  // A full disk under standard output shows only now.
  if (std::fflush(stdout) != 0 || std::ferror(stdout))
    throw Error(ExitCode::failure, "cannot write standard output");
  return code;
}

}  // namespace
}  // namespace trainer

int main(int argc, char** argv) {
  using namespace trainer;
  const auto start = std::chrono::steady_clock::now();
  flush_subnormals();
  // A file that passes the limit (ulimit -f) is then an error like a full disk, not a death without a word.
  std::signal(SIGXFSZ, SIG_IGN);
  std::unique_ptr<Communicator> world = solo();
  try {
    world = start_world();
    return run(*world, {argv, argv + argc}, start);
  } catch (...) {
    end_after_failure(*world);
  }
}
