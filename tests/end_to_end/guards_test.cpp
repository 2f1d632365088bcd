// Faults of machines and of users: each is found, named, and ends the run with its code in time.
#include <catch2/catch.hpp>

#include "tests/end_to_end/small_run.h"
#include "tests/support/skip.h"

namespace trainer {
namespace {

namespace fs = std::filesystem;

/// Two groups of processes with different words in one job.
std::string run_collectively(const std::string& first, const std::string& second) {
  return "$MPIRUN -n 1 " + first + " : -n 2 " + second;
}

}  // namespace

/// A line of sh that trains for ever with `flags`, sends `signal` to rank `rank` of three when training has
/// begun, and ends with the run's code.
std::string signalled(const std::string& flags, const std::string& signal, int rank) {
  return "$TRAINER -n 3 --datapar a.yaml -q -s train.steps=1000000000 -s train.log_every=10 -s "
         "train.evaluate=never "
         "-s train.checkpoint=never " +
         flags +
         " & run=$!; until [ \"$(wc -l < runs/a/metrics.jsonl 2>/dev/null || echo 0)\" -gt 2 ]; do sleep "
         "0.1; done; "
         "kill -" +
         signal + " $(ranks " + std::to_string(rank) + "); wait $run";
}

TEST_CASE("a rank with another configuration, data or program is named before training", "[guards]") {
  const SmallRun run;
  fs::create_directory(run.path("other"));
  write_small_mnist(run.path("other"), 48, 20);
  write_text(run.path("b.yaml"), replaced(kSmallRun, "lr: 0.1", "lr: 0.2"));
  write_text(run.path("c.yaml"), replaced(kSmallRun, ", path: set", ""));
  // Another build ID: four bytes behind the 16 of the note's header.
  REQUIRE(run.shell("objcopy -O binary --only-section=.note.gnu.build-id $TRAINER note && "
                    "printf abcd | dd of=note bs=1 seek=16 conv=notrunc 2>/dev/null && "
                    "objcopy --update-section .note.gnu.build-id=note $TRAINER other-trainer")
              .code == 0);
  struct Case {
    std::string first, second;
    int code;
    std::string message, mine, theirs;
  };
  const std::vector<Case> cases{
      {"$TRAINER --datapar a.yaml", "$TRAINER --datapar b.yaml", 2,
       "the ranks do not have the same configuration", "lr: 0.1", "lr: 0.2"},
      {"$TRAINER --datapar a.yaml", "$TRAINER --modelpar a.yaml", 2,
       "the ranks do not have the same command line", "--datapar", "--modelpar"},
      {"env TRAINER_DATA=set $TRAINER --datapar c.yaml", "env TRAINER_DATA=other $TRAINER --datapar c.yaml",
       3, "the ranks do not have the same data", "40 train", "48 train"},
      {"env TRAINER_INSTRUCTIONS=baseline $TRAINER --datapar a.yaml", "$TRAINER --datapar a.yaml", 4,
       "the ranks do not have the same kernels", "", " kernels"},
      {"$TRAINER --datapar a.yaml", "./other-trainer --datapar a.yaml", 4,
       "the ranks do not have the same program", "build ", "build "},
  };
  for (const Case& fault : cases) {
    const ProgramResult result = run.shell(run_collectively(fault.first, fault.second));
    INFO(fault.message << "\n" << result.err);
    CHECK(result.code == fault.code);
    CHECK(result.err.find("error: " + fault.message) == 0);
    CHECK(result.err.find("\n   = rank 0 on ") != std::string::npos);
    CHECK(result.err.find("\n   = ranks 1, 2 on ") != std::string::npos);
    CHECK(result.err.find(fault.mine) != std::string::npos);
    CHECK(result.err.find(fault.theirs) != std::string::npos);
    CHECK(occurrences(result.err, "error:") == 1);
    CHECK_FALSE(fs::exists(run.path("runs")));
  }
}

TEST_CASE("a rank that is stopped ends the run with 7 after the timeout, and is named", "[guards]") {
  const SmallRun run;
  const int stopped = GENERATE(0, 1);
  const ProgramResult result = run.shell(signalled("-s train.stall_timeout=2", "STOP", stopped));
  INFO(result.err);
  CHECK(result.code == 7);
  CHECK(result.seconds < 12);
  CHECK(result.err.find(" has waited 2 s for rank " + std::to_string(stopped) + " at the ") !=
        std::string::npos);
  CHECK(result.err.find(", in step ") != std::string::npos);
}

TEST_CASE("a rank that is stopped while checkpoints are written is found as soon, and named", "[guards]") {
  const SmallRun run;
  const int stopped = GENERATE(0, 1, 2);
  const ProgramResult result =
      run.shell(signalled("-s train.stall_timeout=2 -s train.checkpoint.steps=1", "STOP", stopped));
  INFO(result.err);
  CHECK(result.code == 7);
  CHECK(result.seconds < 12);
  CHECK(result.err.find(" has waited 2 s for rank " + std::to_string(stopped) + " at ") != std::string::npos);
}

TEST_CASE("a rank that is killed ends the run with 7 at once", "[guards]") {
  const SmallRun run;
  const ProgramResult result = run.shell(signalled("", "KILL", 2));
  INFO(result.err);
  CHECK(result.code == 7);
  CHECK(result.seconds < 10);
  CHECK(result.err.find("error: a process was lost") != std::string::npos);
}

TEST_CASE("with --restarts a run resumes without the processes or the launcher that were lost, and ends well",
          "[guards]") {
  struct Case {
    std::string flags, fault, ranks;
  };
  // MPICH's launcher kills the surviving ranks before they can report.
  const bool all_report = setting_of_tests("MPIRUN").find("mpiexec") == std::string::npos;
  const Case fault = GENERATE_COPY(
      Case{"--datapar -n 4", "KILL $(ranks '[13]')",
           all_report ? "2 ranks (2 data x 1 model)" : "3 ranks (3 data x 1 model)"},
      Case{"--datapar -n 4", "KILL $(ranks 3)", "3 ranks (3 data x 1 model)"},
      Case{"--datapar -n 3", "KILL $(cat /proc/$run/task/*/children)", "2 ranks (2 data x 1 model)"},
      Case{"--mesh 2x2 -n 4 -s train.stall_timeout=1", "STOP $(ranks 3)", "2 ranks (1 data x 2 model)"});
  const SmallRun run;
  // Long enough to be interrupted, short enough to be waited for.
  const ProgramResult result = run.shell(
      "$TRAINER --restarts 1 a.yaml -s train.epochs=2000 -s train.evaluate=never -s "
      "train.checkpoint.steps=1000 " +
          fault.flags +
          " & run=$!; until [ -e runs/a/checkpoints/last ]; do sleep 0.05; done; "
          "kill -" +
          fault.fault + "; wait $run",
      150);
  INFO(result.out << result.err);
  CHECK(result.code == 0);
  CHECK(result.err.find("restart 1 of 1, with ") != std::string::npos);
  // Ranks whose launcher was lost continue until they notice, on a busy machine to the end.
  const bool is_finished = result.out.find("runs/a is finished") != std::string::npos;
  CHECK((is_finished || result.out.find(fault.ranks) != std::string::npos));
  CHECK((is_finished || result.out.find("saved runs/a ") != std::string::npos));
  CHECK_FALSE(fs::exists(run.path("runs/a-2")));
  CHECK(read_text(run.path("runs/a/checkpoints/last/state.json")).find("\"step\": 10000") !=
        std::string::npos);
}

TEST_CASE("a run that is to stop when a process was just lost is not started again, and names the remedy",
          "[guards]") {
  const SmallRun run;
  const ProgramResult result = run.shell(
      "$TRAINER --restarts 3 --datapar -n 3 a.yaml -s train.epochs=20000 -s train.evaluate=never -s "
      "train.checkpoint.steps=1000 & run=$!; until [ -e runs/a/checkpoints/last ]; do sleep 0.05; done; "
      "kill -KILL $(ranks 1); kill -TERM $run; wait $run",
      60);
  INFO(result.out << result.err);
  // The first rank with the signal may have saved.
  if (result.code == 130) return;
  CHECK(result.code == 143);
  CHECK(result.err.find("error: stopped by signal 15 (Terminated) before all processes could save\n"
                        "help: trainer runs/a resumes from the last checkpoint") != std::string::npos);
  CHECK(result.err.find("restart 1") == std::string::npos);
}

TEST_CASE("parameters and states that overflow end a run and never take a checkpoint's place", "[guards]") {
  const int ranks = GENERATE(1, 2);
  const SmallRun run;
  const std::vector<std::string> words{"a.yaml",    "-o", "run",
                                       "--datapar", "-s", "train.checkpoint={steps: 1}"};
  const auto ends = [&](const std::string& what, const std::vector<std::string>& settings) {
    fs::remove_all(run.path("run"));
    std::vector<std::string> all = words;
    for (const std::string& setting : settings) all.insert(all.end(), {"-s", setting});
    const ProgramResult result = run.trainer(all, ranks);
    INFO(result.out << result.err);
    CHECK(result.code == 5);
    CHECK(result.err.find(what) != std::string::npos);
    CHECK(!fs::exists(run.path("run/checkpoints/step-1")));
  };
  // Each gradient is finite, but 3e38 times as much is not.
  ends("in dense", {"model.layers[0].dense.init={normal: 30}", "model.layers[1].dense.init={normal: 30}",
                    "train.optimizer.sgd.lr=3.0e+38"});
  ends("in square of dense1.weight",
       {"model.layers[0].dense.init={normal: 1.0e+10}", "model.layers[1].dense.init={normal: 1.0e+22}",
        "train.optimizer={adam: {lr: 0.02}}"});
  ends("in batch_norm1.running_var",
       {"model.layers=[{dense: {units: 8, init: {normal: 1.0e+22}}}, batch_norm, relu, dense: 10]"});
}

TEST_CASE("a mistake or a divergence is not tried again", "[guards]") {
  const SmallRun run;
  const ProgramResult wrong = run.trainer({"--restarts", "3", "--datapar", "a.yaml", "-s", "train.lr=1"}, 2);
  CHECK(wrong.code == 2);
  const ProgramResult diverged =
      run.trainer({"--restarts", "3", "--datapar", "a.yaml", "-s", "train.optimizer.sgd.lr=1e30"}, 2);
  CHECK(diverged.code == 5);
  CHECK((wrong.err + diverged.err).find("restart") == std::string::npos);
  CHECK(run.trainer({"--restarts", "3", "a.yaml"}).code == 2);
}

TEST_CASE("a bit that flips in shared values, an optimizer state or a copy ends the run with 5, named",
          "[bit-flips]") {
  if (is_built_with("address"))
    skip_test("AddressSanitizer maps terabytes, in which flip_bit.py would search for ever");
  struct Case {
    std::string flags, tensor, memory, rank, message;
  };
  const Case fault =
      GENERATE(Case{"", "dense2.weight", "shared", "[01]",
                    "error: dense2.weight changed in memory without an update, after step "},
               Case{"", "dense2.weight.momentum", "private", "1",
                    "error: momentum of dense2.weight changed in memory without an update, after step "},
               Case{"--ranks-per-node 1", "dense2.weight", "private", "0",
                    "error: a replica of dense2.weight changed in memory after step "});
  const SmallRun run;
  // Without a learning rate values do not change, so that they can be found in memory.
  write_text(run.path("a.yaml"),
             replaced(replaced(kSmallRun, "{lr: 0.1}", "{lr: 0, momentum: 0.5}"), "batch: 8", "batch: 40"));
  const ProgramResult result = run.shell(
      "$TRAINER -n 2 --datapar a.yaml -q -s data.shuffle=false -s train.steps=1000000000 -s "
      "train.log_every=1000 "
      "-s train.evaluate=never -s train.checkpoint.steps=1000 " +
      fault.flags +
      " & run=$!; until [ -e runs/a/checkpoints/last ]; do sleep 0.1; done; "
      // The run may replace what is being copied.
      "for try in 1 2 3 4 5 6; do cp -rL runs/a/checkpoints/last kept && break; rm -rf kept; done; flip=0; "
      // A replica that flips just before the next one arrives is overwritten without an error: try again.
      "for try in 1 2 3 4 5 6; do python3 $FLIP_BIT kept " +
      fault.tensor + " " + fault.memory + " $(ranks " + fault.rank +
      ") >&2; now=$?; [ $now = 1 ] && [ $try -gt 1 ] && break; flip=$now; [ $flip = 0 ] || break; sleep 2; "
      "done; "
      "[ $flip = 0 ] || kill $run; wait $run; code=$?; [ $flip = 0 ] || exit $flip; exit $code");
  if (result.code == 77) skip_test("the system does not let a test write into another process");
  INFO(fault.tensor << " " << fault.flags << "\n" << result.err);
  CHECK(result.code == 5);
  CHECK(result.err.find(fault.message) != std::string::npos);
}

}  // namespace trainer
