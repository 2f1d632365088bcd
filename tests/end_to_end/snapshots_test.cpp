// Snapshots in memory: what they are for without a lost process, and without room. snapshot_kills.py has the
// losses.
#include <catch2/catch.hpp>

#include "tests/end_to_end/small_run.h"

namespace trainer {
namespace {

/// Waits for the first snapshot; `memory` is then the folder of the job's shared memory.
const std::string kAwaitSnapshot =
    "memory=; until [ -e \"$memory/snapshots/last\" ]; do sleep 0.02; rank=$(ranks 0); "
    "[ -z \"$rank\" ] || memory=$(tr '\\0' '\\n' < /proc/$rank/environ | sed -n "
    "s/^TRAINER_SHARED_MEMORY=//p); done; ";

}  // namespace

TEST_CASE("a run without --restarts notes that train.snapshot keeps nothing", "[snapshots]") {
  const SmallRun run;
  const std::string note = "note: train.snapshot keeps nothing without `trainer -n N --restarts K`\n";
  CHECK(run.trainer({"a.yaml", "-s", "train.snapshot={steps: 2}"}).err == note);
  CHECK(run.trainer({"a.yaml", "-s", "train.snapshot={steps: 2}", "--datapar"}, 2).err == note);
  const ProgramResult kept =
      run.trainer({"a.yaml", "-s", "train.snapshot={steps: 2}", "--datapar", "--restarts", "1"}, 2);
  CHECK(kept.code == 0);
  CHECK(kept.err.empty());
}

TEST_CASE("a snapshot without room is a warning with its key and bytes, and the run ends well",
          "[snapshots]") {
  const SmallRun run;
  // No file above 5 MiB: a snapshot of 6.4 MB is refused as on a full file system.
  const ProgramResult result = run.shell(
      "ulimit -f 10240; $TRAINER -n 2 --datapar a.yaml -q --restarts 1 -s model.layers[0].dense.units=2000 "
      "-s train.checkpoint=never -s train.snapshot={steps:\\ 2}");
  INFO(result.out << result.err);
  CHECK(result.code == 0);
  CHECK(result.err.find("warning: train.snapshot: a snapshot of 6360") == 0);
  CHECK(result.err.find(" bytes could not be kept after step 2: cannot write ") != std::string::npos);
  CHECK(occurrences(result.err, "train.snapshot") == 1);
}

TEST_CASE("a snapshot that cannot begin is one warning, and the run ends well", "[snapshots]") {
  const SmallRun run;
  const std::string ema = GENERATE("", " -s train.ema=0.9");
  // A file takes the place of the folder of snapshots.
  const ProgramResult result = run.shell(
      "$TRAINER -n 2 --datapar a.yaml -q --restarts 1 -s train.epochs=2000 -s train.evaluate=never "
      "-s train.checkpoint=never -s train.stall_timeout=20 -s train.snapshot={steps:\\ 2000}" +
          ema + " & run=$!; " + kAwaitSnapshot +
          "for rank in $(ranks '[01]'); do kill -STOP $rank; done; sleep 0.3; "
          "rm -rf $memory/snapshots; touch $memory/snapshots; "
          "for rank in $(ranks '[01]'); do kill -CONT $rank; done; wait $run",
      100);
  INFO(result.out << result.err);
  CHECK(result.code == 0);
  CHECK(result.out.find("saved ") != std::string::npos);
  CHECK(result.err.find("warning: train.snapshot: a snapshot of ") == 0);
  CHECK(result.err.find("/snapshots") != std::string::npos);
  CHECK(occurrences(result.err, "train.snapshot") == 1);
}

TEST_CASE("a damaged snapshot is a warning, and the restart begins where it can", "[snapshots]") {
  const SmallRun run;
  // One snapshot, long before the end, and no checkpoint.
  const ProgramResult result = run.shell(
      "$TRAINER -n 2 --datapar a.yaml --restarts 1 -s train.epochs=2000 -s train.evaluate=never "
      "-s train.checkpoint=never -s train.snapshot={steps:\\ 1000} -s train.stall_timeout=20 & run=$!; " +
          kAwaitSnapshot +
          "rank=$(ranks 1); kill -STOP $rank; sleep 0.3; "
          "for file in $memory/snapshots/step-*/model.safetensors; do echo damage >> $file; done; "
          "kill -KILL $rank; wait $run",
      100);
  INFO(result.out << result.err);
  CHECK(result.code == 0);
  CHECK(result.err.find("warning: the snapshot in memory is not used: ") != std::string::npos);
  CHECK(result.err.find("model.safetensors is damaged: its checksum is wrong") != std::string::npos);
  CHECK(result.out.find("resumes after step") == std::string::npos);
}

}  // namespace trainer
