// Signals stop a run at any moment: it saves and returns 130, or reports once that it could not.
#include <catch2/catch.hpp>
#include <csignal>

#include "tests/end_to_end/small_run.h"

namespace trainer {
namespace {

/// A line of sh: trains for ever in the background, as $run, with messages in "err".
std::string begin(const std::string& flags) {
  return "$TRAINER --datapar a.yaml -q -s train.steps=1000000000 -s train.evaluate=never "
         "-s train.log_every=10 -s train.checkpoint.steps=1000 " +
         flags +
         " 2> err & run=$!; until [ -n \"$(cat /proc/$run/task/*/children)\" ]; do sleep 0.01; done; ";
}

const std::string kTraining = "until [ -e runs/a/checkpoints/last ]; do sleep 0.05; done; ";

/// Flags of a run that does not end by itself.
const std::string kEndless =
    " -s train.steps=1000000000 -s train.evaluate=never -s train.log_every=10 -s "
    "train.checkpoint.steps=1000 ";

/// Stopped in time, with a checkpoint (130) or before there could be one (128 + the signal, 1 for SIGINT),
/// and reported once.
void check_stopped(const ProgramResult& result, const std::string& messages, int signal) {
  INFO(messages);
  CHECK_FALSE(result.timed_out);
  CHECK((result.code == 130 || result.code == (signal == SIGINT ? 1 : 128 + signal)));
  CHECK(occurrences(messages, "stopped ") == 1);
  CHECK(occurrences(messages, "stopped after step ") == (result.code == 130 ? 1 : 0));
}

}  // namespace

TEST_CASE("a signal in the first moments stops the run, whether there are ranks already or not",
          "[stopping]") {
  const auto [signal, number] = GENERATE(table<std::string, int>({{"TERM", 15}, {"INT", 2}, {"USR1", 10}}));
  const std::string delay = GENERATE("0", "0.03", "0.1");
  const SmallRun run;
  const ProgramResult result =
      run.shell(begin("-n 2") + "sleep " + delay + "; kill -" + signal + " $run; wait $run", 20);
  INFO(signal << " after " << delay);
  check_stopped(result, read_text(run.path("err")), number);
}

TEST_CASE("a signal in the first moments of a restart stops the run", "[stopping]") {
  const std::string delay = GENERATE("0.05", "0.15");
  const SmallRun run;
  const ProgramResult result =
      run.shell(begin("-n 3 --restarts 2") + kTraining +
                    "kill -KILL $(ranks 1); until grep -q 'restart 1 of 2' err; do sleep 0.01; done; sleep " +
                    delay + "; kill -TERM $run; wait $run",
                40);
  const std::string messages = read_text(run.path("err"));
  check_stopped(result, messages, 15);
  CHECK(messages.find("restart 2") == std::string::npos);
}

TEST_CASE("SIGTERM to all processes at once gives the ranks time to save: 130 and one message",
          "[stopping]") {
  const std::string flags = GENERATE("-n 2", "-n 3 --restarts 1");
  const SmallRun run;
  // All that have this run's HOME are those that a service manager would end.
  const ProgramResult result = run.shell(
      begin(flags) + kTraining +
          "all=$(grep -lzxF \"HOME=$HOME\" /proc/[0-9]*/environ 2>/dev/null | cut -d/ -f3 | grep -vx $$); "
          "kill -TERM $all 2>/dev/null; wait $run",
      20);
  const std::string messages = read_text(run.path("err"));
  check_stopped(result, messages, 15);
  CHECK(result.code == 130);
  CHECK(messages.find("error:") == std::string::npos);
  CHECK(messages.find('\x1c') == std::string::npos);
}

TEST_CASE("a run under nohup outlives its terminal, and SIGTERM stops it", "[stopping]") {
  // UCX, which Debian's MPICH brings, takes that signal over before the program sees that it was ignored.
  if (setting_of_tests("MPIRUN").find("mpich") != std::string::npos) return;
  const SmallRun run;
  const ProgramResult result =
      run.shell("trap '' HUP; " + begin("-n 2") + kTraining +
                    "kill -HUP $run; sleep 1.5; kill -0 $run && echo it runs; kill -TERM $run; wait $run",
                20);
  CHECK(result.out == "it runs\n");
  check_stopped(result, read_text(run.path("err")), 15);
  CHECK(result.code == 130);
}

TEST_CASE("the end of the terminal stops and saves, alone and under the launcher", "[stopping]") {
  const std::string ranks = GENERATE("", "-n 2 --datapar");
  const SmallRun run;
  const ProgramResult result = run.shell("env --default-signal=HUP $TRAINER a.yaml -q " + ranks + kEndless +
                                             " 2> err & run=$!; " + kTraining + "kill -HUP $run; wait $run",
                                         20);
  check_stopped(result, read_text(run.path("err")), SIGHUP);
  CHECK(result.code == 130);
}

TEST_CASE("a reader of the output that goes away stops and saves, alone and under the launcher",
          "[stopping]") {
  const std::string ranks = GENERATE("", "-n 2 --datapar");
  const SmallRun run;
  const ProgramResult result = run.shell(
      "{ $TRAINER a.yaml --progress json " + ranks + kEndless + " 2> err; echo $? > code; } | head -n 3", 20);
  const std::string messages = read_text(run.path("err"));
  INFO(messages);
  CHECK_FALSE(result.timed_out);
  CHECK(read_text(run.path("code")) == "130\n");
  CHECK(messages.find("stopped after step ") == 0);
  CHECK(std::filesystem::exists(run.path("runs/a/checkpoints/last")));
}

TEST_CASE("130 means a saved run and nothing else", "[stopping]") {
  const SmallRun run;
  // Without a checkpoint there is nothing to resume.
  const ProgramResult unsaved =
      run.shell("$TRAINER a.yaml -q -o unsaved " + kEndless +
                    " -s train.checkpoint=never & run=$!; until [ -e unsaved/results.csv ]; do sleep "
                    "0.05; done; kill -INT $run; wait $run",
                20);
  CHECK(unsaved.code == 1);
  CHECK(unsaved.err.find("nothing is saved (train.checkpoint: never)") != std::string::npos);
  // OpenBLAS raises SIGINT when it gets no threads, before main() begins. Root has no such limit.
  const std::string limited = "setpriv --reuid=54321 --clear-groups prlimit --nproc=1 ";
  if (run.shell(limited + "test -x $TRAINER").code != 0) return;
  const ProgramResult result = run.shell(limited + "$TRAINER --version");
  INFO(result.err);
  CHECK(result.code == 0);
}

}  // namespace trainer
