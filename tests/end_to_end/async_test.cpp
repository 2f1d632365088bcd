// Asynchronous SGD as users start it: its log, its end at any moment, and what it refuses.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <sstream>

#include "tests/end_to_end/small_run.h"

namespace trainer {
namespace {

const std::string kWeights = "/checkpoints/last/model.safetensors";

/// Flags of a run that does not end by itself.
const std::string kEndless =
    " -s train.steps=1000000000 -s train.evaluate=never -s train.log_every=10 -s train.checkpoint.steps=100 ";
const std::string kTraining = "until [ -e runs/a/checkpoints/last ]; do sleep 0.05; done; ";

}  // namespace

TEST_CASE("a run with --async logs its staleness, never above the bound, in the table and in every line",
          "[async]") {
  const int ranks = GENERATE(1, 2, 4);
  const SmallRun run;
  const ProgramResult result = run.trainer({"a.yaml", "--async", "-s", "train.async.staleness=3", "-s",
                                            "train.epochs=6", "-s", "train.log_every=1", "-o", "run"},
                                           ranks);
  INFO(result.err);
  REQUIRE(result.code == 0);
  CHECK(result.out.find("async         staleness at most 3\n") != std::string::npos);
  CHECK(result.out.find(" stale ") != std::string::npos);
  // Five batches in each epoch, and an evaluation.
  std::istringstream lines(read_text(run.path("run/metrics.jsonl")));
  int count = 0, largest = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    INFO(line);
    const std::string key = "\"staleness_max\":";
    const std::size_t at = line.find(key);
    REQUIRE(at != std::string::npos);
    CHECK(line.find("\"staleness\":") != std::string::npos);
    largest = std::max(largest, std::atoi(line.c_str() + at + key.size()));
  }
  CHECK(count == 6 * 6);
  CHECK(largest <= 3);
  if (ranks == 1) CHECK(largest == 0);
  CHECK(run.trainer({"eval", "run"}).code == 0);
  CHECK(run.trainer({"report", "run"}).code == 0);
}

TEST_CASE("an asynchronous run on one rank leaves the weights of a synchronous one", "[async]") {
  const SmallRun run;
  REQUIRE(run.trainer({"a.yaml", "-s", "train.epochs=2", "-o", "plain"}).code == 0);
  REQUIRE(run.trainer({"a.yaml", "--async", "-s", "train.epochs=2", "-o", "async"}).code == 0);
  CHECK(read_text(run.path("plain" + kWeights)) == read_text(run.path("async" + kWeights)));
}

TEST_CASE("an asynchronous run that is stopped saves, and resumes on other ranks", "[async]") {
  const SmallRun run;
  const ProgramResult stopped = run.shell("$TRAINER --async a.yaml -q -n 2" + kEndless + "2> err & run=$!; " +
                                              kTraining + "kill -TERM $run; wait $run",
                                          20);
  const std::string messages = read_text(run.path("err"));
  INFO(messages);
  CHECK(stopped.code == 130);
  CHECK(messages.find("resume with: trainer -n 2 --datapar runs/a") != std::string::npos);
  const std::size_t at = messages.find("stopped after step ") + 19;
  std::string digits;
  for (const char c : messages.substr(at, messages.find(' ', at) - at))
    if (c != ',') digits += c;
  const int done = std::atoi(digits.c_str());
  REQUIRE(done > 100);
  for (const int ranks : {3, 1}) {
    const ProgramResult result = run.trainer(
        {"runs/a", "--datapar", "-q", "-s", "train.steps=" + std::to_string(done + 20 - 5 * ranks)}, ranks);
    INFO(result.err);
    CHECK(result.code == 0);
  }
  CHECK(run.trainer({"runs/a", "-q", "-s", "train.async=~", "-s", "train.steps=1000000"}).code == 2);
}

TEST_CASE("a rank of an asynchronous run that is killed ends it with 7, or it restarts", "[async]") {
  const std::string restarts = GENERATE("", " --restarts 1");
  const SmallRun run;
  const ProgramResult result = run.shell(
      "$TRAINER --async a.yaml -q -n 2" + restarts + kEndless + "2> err & run=$!; " + kTraining +
          "kill -KILL $(ranks 1); " +
          (restarts.empty()
               ? ""
               : "until grep -q 'restart 1 of 1' err; do sleep 0.05; done; sleep 1; kill -TERM $run; ") +
          "wait $run",
      40);
  const std::string messages = read_text(run.path("err"));
  INFO(messages);
  CHECK(result.code == (restarts.empty() ? 7 : 130));
  CHECK(messages.find("a process was lost") != std::string::npos);
}

TEST_CASE("what needs steps of all ranks is refused beside async", "[async]") {
  const auto [words, message] = GENERATE(table<std::vector<std::string>, std::string>({
      {{"-s", "train.exact=true"}, "updates of train.async come in the order in which ranks end"},
      {{"-s", "train.local={steps: 2}"}, "train.async has none"},
      {{"-s", "train.accumulate=2"}, "computes its share of a batch at once"},
      {{"-s", "train.ema=0.9"}, "train.async has no steps of all ranks"},
      {{"-s", "train.compression=bf16"}, "train.async sends gradients to one rank at a time"},
      {{"-s", "train.skip_outliers={}"}, "update parameters one after the other"},
      {{"-s", "train.log={gradients: true}"}, "have gradients of their own"},
      {{"-s", "train.optimizer={lars: {lr: 1}}"}, "lars needs norms of whole layers"},
      {{"--profile"}, "--profile records layers of steps"},
      {{"--shard", "gradients"}, "each rank computes with whole parameters"},
  }));
  const SmallRun run;
  std::vector<std::string> all{"a.yaml", "--async"};
  all.insert(all.end(), words.begin(), words.end());
  const ProgramResult result = run.trainer(all);
  INFO(result.err);
  CHECK((result.code == 2 || result.code == 4));
  CHECK(result.err.find(message) != std::string::npos);
  for (const char* command : {"time", "summary", "plan", "lr-find"})
    if (words.front() == "--profile")
      CHECK(run.trainer({command, "a.yaml", "-s", "train.async={}"}).code ==
            (std::string(command) == "summary" ? 0 : 2));
}

}  // namespace trainer
