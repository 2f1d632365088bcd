// train.on_divergence: a run that is not finite returns to its last checkpoint with a lower rate.
#include <catch2/catch.hpp>

#include "tests/end_to_end/small_run.h"

namespace trainer {
namespace {

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

bool has_once(const std::string& text, const std::string& part) {
  return has(text, part) && text.find(part) == text.rfind(part);
}

/// A run whose rate is too high at first: each step multiplies the weights.
const std::string kConfig = R"(data: {dataset: mnist, path: set}
model:
  layers: [dense: 10]
  loss: mse
train:
  steps: 60
  batch: 8
  optimizer: {sgd: {lr: 3}}
  checkpoint: {steps: 2}
  on_divergence: {times: 4, factor: 0.1}
  exact: {modelpar: false}
)";

struct RollbackRun : SmallRun {
  RollbackRun() { write_text(path("b.yaml"), kConfig); }
  std::string weights(const std::string& run) const {
    return read_text(path("runs/" + run + "/checkpoints/last/model.safetensors"));
  }
};

}  // namespace

TEST_CASE("a run that diverges returns to its last checkpoint with a lower rate, the same on any ranks",
          "[rollback]") {
  const RollbackRun run;
  const ProgramResult one = run.trainer({"b.yaml", "-q"});
  INFO(one.out << one.err);
  REQUIRE(one.code == 0);
  CHECK(has(one.err, "; back to step "));
  CHECK(has(one.err, ", lr x 0.1 (rollback 1 of 4)"));
  CHECK(has(read_text(run.path("runs/b/command.txt")), "# "));
  const std::string log = read_text(run.path("runs/b/metrics.jsonl"));
  CHECK(has(log, R"("step":60,)"));
  CHECK_FALSE(has(log, "null"));
  CHECK(has_once(run.trainer({"b.yaml", "--name", "shown"}).out, "\n epoch "));
  const ProgramResult three = run.trainer({"b.yaml", "-q", "--datapar", "--name", "three"}, 3);
  INFO(three.out << three.err);
  REQUIRE(three.code == 0);
  CHECK(run.weights("b") == run.weights("three"));
}

TEST_CASE("a run that rolled back, stopped and resumed ends as one that did not stop", "[rollback]") {
  const RollbackRun run;
  REQUIRE(run.trainer({"b.yaml", "-q"}).code == 0);
  REQUIRE(run.trainer({"b.yaml", "-q", "--name", "cut", "-s", "train.steps=57"}).code == 0);
  const ProgramResult resumed = run.trainer({"runs/cut", "-q", "-s", "train.steps=60"});
  INFO(resumed.err);
  REQUIRE(resumed.code == 0);
  CHECK_FALSE(has(resumed.err, "rollback"));
  CHECK(run.weights("b") == run.weights("cut"));
}

TEST_CASE("a run that goes back to step 0 begins with the weights of --init again", "[rollback]") {
  const RollbackRun run;
  const std::vector<std::string> steady{"-s", "train.optimizer.sgd.lr=1e-3", "-s", "train.log_every=1"};
  const auto first_loss = [&](std::vector<std::string> words) {
    words.insert(words.end(), {"-q", "--init", "runs/b/checkpoints/last/model.safetensors"});
    const ProgramResult result = run.trainer(words);
    INFO(result.out << result.err);
    CHECK(result.code == 0);
    const std::string log = read_text(run.path(words[2]) / "metrics.jsonl");
    return number_after(log.substr(log.rfind("{\"step\":1,")), "\"loss\":");
  };
  REQUIRE(run.trainer({"b.yaml", "-q", steady[0], steady[1]}).code == 0);
  const double loss = first_loss({"b.yaml", "-o", "steady", steady[0], steady[1], steady[2], steady[3]});
  CHECK(first_loss({"b.yaml", "-o", "rolled", "-s", "train.optimizer.sgd.lr=1e30", "-s",
                    "train.on_divergence.factor=1e-33", "-s", "train.checkpoint.steps=100", "-s",
                    "train.log_every=1"}) == Approx(loss));
}

TEST_CASE("a run that diverges too often ends with 5, and so does one that is to stop", "[rollback]") {
  const RollbackRun run;
  const ProgramResult often =
      run.trainer({"b.yaml", "-q", "-s", "train.on_divergence={times: 2, factor: 1}", "--datapar"}, 2);
  INFO(often.err);
  CHECK(often.code == 5);
  CHECK(has(often.err, "(rollback 2 of 2)"));
  CHECK(has(often.err, "error: "));
  const ProgramResult stopped = run.trainer({"b.yaml", "-q", "-s", "train.on_divergence=stop"});
  CHECK(stopped.code == 5);
  CHECK_FALSE(has(stopped.err, "rollback"));
  CHECK(has(read_text(run.path("runs/b-2/command.txt")), "# "));
  CHECK(has(read_text(run.path("runs/b-2/report.html")), "<p><mark>"));
  const ProgramResult unsaved = run.trainer({"b.yaml", "-s", "train.checkpoint=never"});
  CHECK(unsaved.code == 2);
  CHECK(has(unsaved.err, "a rollback returns to the last checkpoint, and train.checkpoint is never"));
}

TEST_CASE("an evaluation whose loss is not finite is a warning, and never the best one", "[rollback]") {
  const SmallRun run;
  write_text(run.path("train.csv"), "a,y\n1,2\n2,4\n3,6\n4,8\n");
  // Twice that is no float.
  write_text(run.path("test.csv"), "a,y\n3e38,1\n");
  write_text(run.path("e.yaml"),
             "data: {dataset: {csv: {train: train.csv, test: test.csv, target: y, targets: numbers}}}\n"
             "model: {layers: [dense: {units: 1, init: {constant: 2}}], loss: mse}\n"
             "train: {epochs: 3, batch: 4, optimizer: {sgd: {lr: 0.01}}}\n");
  const int ranks = GENERATE(1, 2);
  const ProgramResult result = run.trainer({"e.yaml", "--datapar", "-o", "run"}, ranks);
  INFO(result.out << result.err);
  REQUIRE(result.code == 0);
  CHECK(has_once(result.err, "warning: loss of test is infinity after step 1: "));
  CHECK(has(result.out, "done  3 steps"));
  CHECK_FALSE(std::filesystem::exists(run.path("run/checkpoints/best")));
  CHECK(std::filesystem::exists(run.path("run/checkpoints/last")));
  CHECK(run.trainer({"eval", "run"}).code == 0);
  const ProgramResult resumed = run.trainer({"run", "-s", "train.epochs=4"});
  INFO(resumed.err);
  CHECK(resumed.code == 0);
}

}  // namespace trainer
