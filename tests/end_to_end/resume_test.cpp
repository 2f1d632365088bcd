// A run directory is gone on with: by hand, after a kill, on other ranks; and what cannot be gone on with
// says so.
#include <catch2/catch.hpp>
#include <sstream>

#include "tests/end_to_end/small_run.h"

namespace trainer {
namespace {

namespace fs = std::filesystem;

const std::string kWeights = "checkpoints/last/model.safetensors";

/// metrics.jsonl and results.csv without what depends on the clock.
std::string timeless(const fs::path& run) {
  std::istringstream metrics(read_text(run / "metrics.jsonl")), results(read_text(run / "results.csv"));
  std::string text;
  for (std::string line; std::getline(metrics, line);)
    text += line.substr(0, line.find(",\"examples_per_second\"")) + "\n";
  for (std::string row; std::getline(results, row);) {
    std::istringstream cells(row);
    std::string cell;
    // epoch, time, the scores, lr; then speed and shares
    for (int column = 0; column < 7 && std::getline(cells, cell, ','); ++column)
      if (column != 1) text += cell + ",";
    text += "\n";
  }
  return text;
}

}  // namespace

TEST_CASE("a run that was cut off goes on to the same files, wherever it goes on", "[resume]") {
  const SmallRun run;
  REQUIRE(run.trainer({"a.yaml", "-s", "train.epochs=4", "-s", "train.log_every=1", "-o", "whole"}).code ==
          0);
  const std::vector<std::string> half{"a.yaml", "-s",  "train.epochs=2", "-s", "train.log_every=1",
                                      "-o",     "half"};
  REQUIRE(run.trainer(half).code == 0);
  write_text(run.path("half/metrics.jsonl"), read_text(run.path("half/metrics.jsonl")) +
                                                 "{\"step\":11,\"epoch\":3,\"split\":\"train\"}\n{\"st");
  const ProgramResult result = run.trainer({"half", "-s", "train.epochs=4"});
  INFO(result.err);
  CHECK(result.code == 0);
  CHECK(result.out.find("run           half, goes on after step 10\n") != std::string::npos);
  CHECK(timeless(run.path("half")) == timeless(run.path("whole")));
  CHECK(read_text(run.path("half") / kWeights) == read_text(run.path("whole") / kWeights));
  CHECK(occurrences(read_text(run.path("half/command.txt")), "\n") == 2);
  CHECK(run.trainer({"half", "-s", "train.epochs=6", "--datapar"}, 2).code == 0);
  CHECK(run.trainer({"--resume", "half", "-s", "train.epochs=7", "--modelpar"}, 3).code == 0);
  CHECK(occurrences(read_text(run.path("half/results.csv")), "\n") == 8);
}

TEST_CASE("a run that is finished says so, ends with 0 and changes nothing", "[resume]") {
  const SmallRun run;
  REQUIRE(run.trainer({"a.yaml"}).code == 0);
  const std::string before = read_text(run.path("runs/a/metrics.jsonl"));
  const ProgramResult result = run.trainer({"runs/a"});
  CHECK(result.code == 0);
  CHECK(result.out == "runs/a is finished: 5 of 5 steps are done   use: trainer eval runs/a\n");
  CHECK(read_text(run.path("runs/a/metrics.jsonl")) == before);
}

TEST_CASE("a run without a checkpoint starts again at step 0", "[resume]") {
  const SmallRun run;
  REQUIRE(run.trainer({"a.yaml"}).code == 0);
  REQUIRE(run.trainer({"a.yaml", "-s", "train.checkpoint=never", "-o", "b"}).code == 0);
  REQUIRE(run.trainer({"b", "-s", "train.checkpoint=epoch"}).code == 0);
  CHECK(timeless(run.path("b")) == timeless(run.path("runs/a")));
  CHECK(read_text(run.path("b") / kWeights) == read_text(run.path("runs/a") / kWeights));
}

TEST_CASE("a run that goes on changes no key that makes another run of it, and names those", "[resume]") {
  const SmallRun run;
  REQUIRE(run.trainer({"a.yaml"}).code == 0);
  const ProgramResult result = run.trainer(
      {"runs/a", "-s", "train.batch=4", "-s", "train.optimizer.sgd.lr=1", "-s", "train.epochs=2"});
  CHECK(result.code == 2);
  CHECK(result.err.find("cannot change train.batch and train.optimizer.sgd.lr\n") != std::string::npos);
  CHECK(result.err.find("help: trainer runs/a/config.yaml ... begins a new run") != std::string::npos);
  CHECK(run.trainer({"runs/a", "--name", "b"}).code == 2);
  CHECK(run.trainer({"runs/a", "--init", "x"}).code == 2);
  CHECK(run.trainer({"--resume", "a.yaml"}).code == 2);
  CHECK(run.trainer({"--resume", "set"}).code == 2);
}

TEST_CASE("a damaged checkpoint ends with 6 and the one before it, from which the run goes on", "[resume]") {
  const SmallRun run;
  REQUIRE(run.trainer({"a.yaml", "-s", "train.epochs=4", "-o", "whole"}).code == 0);
  REQUIRE(run.trainer({"a.yaml", "-s", "train.epochs=3", "-o", "b"}).code == 0);
  fs::resize_file(run.path("b/checkpoints/step-15/optimizer.safetensors"), 100);
  const ProgramResult result = run.trainer({"b", "-s", "train.epochs=4"});
  INFO(result.err);
  CHECK(result.code == 6);
  CHECK(result.err.find("b/checkpoints/step-15/optimizer.safetensors") != std::string::npos);
  const std::string before = "b/checkpoints/step-10";
  CHECK(result.err.find("trainer " + before) != std::string::npos);
  REQUIRE(run.trainer({before, "-s", "train.epochs=4"}).code == 0);
  CHECK(read_text(run.path("b") / kWeights) == read_text(run.path("whole") / kWeights));
  CHECK(timeless(run.path("b")) == timeless(run.path("whole")));
}

TEST_CASE("data that changed since is told, and not learned from", "[resume]") {
  const SmallRun run;
  REQUIRE(run.trainer({"a.yaml"}).code == 0);
  write_small_mnist(run.path("set"), 48, 20);
  const ProgramResult result = run.trainer({"runs/a", "-s", "train.epochs=2"});
  CHECK(result.code == 3);
  CHECK(result.err.find("the data is not what the run learned from") != std::string::npos);
}

TEST_CASE("a second process in a run directory ends with a clear error", "[resume]") {
  const SmallRun run;
  const ProgramResult result = run.shell(
      "$TRAINER a.yaml -q -s train.steps=1000000000 -s train.evaluate=never & first=$!; "
      "until [ -e runs/a/results.csv ]; do sleep 0.1; done; $TRAINER runs/a; code=$?; kill -KILL $first; "
      "exit "
      "$code");
  INFO(result.err);
  CHECK(result.code == 2);
  CHECK(result.err.find("error: runs/a is in use: another process trains in it") == 0);
}

}  // namespace trainer
