// Chains of runs: a replay finds what is not as it was recorded, and where two runs part.
#include <catch2/catch.hpp>

#include "tests/end_to_end/small_run.h"

namespace trainer {
namespace {

namespace fs = std::filesystem;

const std::vector<std::string> kChained{"-s", "train.exact=true", "-s", "train.chain=true", "-q"};

/// Trains a.yaml into `name` with a chain.
void train(const SmallRun& run, const std::string& name, std::vector<std::string> words = {}, int ranks = 1) {
  words.insert(words.begin(), {"a.yaml", "-o", name});
  words.insert(words.end(), kChained.begin(), kChained.end());
  const ProgramResult result = run.trainer(words, ranks);
  INFO(result.err);
  REQUIRE(result.code == 0);
}

/// A run of so many epochs of five steps.
std::vector<std::string> epochs(int count) { return {"-s", "train.epochs=" + std::to_string(count)}; }

}  // namespace

TEST_CASE("chain.jsonl is the same on any placement, and after a resume that cuts a tail off", "[proof]") {
  const SmallRun run;
  train(run, "whole", epochs(4));
  const std::string chain = read_text(run.path("whole/chain.jsonl"));
  CHECK(occurrences(chain, "\n") == 21);
  for (const auto& [mode, ranks] : {std::pair{"--datapar", 3}, {"--modelpar", 2}}) {
    train(run, "placed", {"-s", "train.epochs=4", mode}, ranks);
    CHECK(read_text(run.path("placed/chain.jsonl")) == chain);
    fs::remove_all(run.path("placed"));
  }
  train(run, "half", epochs(2));
  // As after a crash: steps behind the checkpoint, and half a line.
  write_text(run.path("half/chain.jsonl"), chain.substr(0, chain.find("{\"step\":13") + 40));
  REQUIRE(run.trainer({"half", "-s", "train.epochs=4", "--datapar"}, 2).code == 0);
  CHECK(read_text(run.path("half/chain.jsonl")) == chain);
}

TEST_CASE("a run does not resume with the chain of another run", "[proof]") {
  const SmallRun run;
  train(run, "a");
  const std::string other = "{\"step\":0,\"weights\":\"0\",\"chain\":\"0\"}\n";
  write_text(run.path("a/chain.jsonl"), other);
  const ProgramResult result = run.trainer({"a", "-s", "train.epochs=2"});
  CHECK(result.code == 6);
  CHECK(result.err.find("error: a/chain.jsonl does not hold the chain value of the checkpoint\n") == 0);
  CHECK(read_text(run.path("a/chain.jsonl")) == other);
}

TEST_CASE("verify replays a run on any placement, whole or from a checkpoint, and changes nothing",
          "[proof]") {
  const SmallRun run;
  train(run, "a", epochs(3));
  const std::string chain = read_text(run.path("a/chain.jsonl"));
  const ProgramResult whole = run.trainer({"verify", "a"});
  INFO(whole.err);
  CHECK(whole.code == 0);
  CHECK(whole.out == "a is what it claims: 15 steps replayed from the start, 3 checkpoints compared\n");
  CHECK(run.trainer({"verify", "a", "--modelpar"}, 2).out == whole.out);
  CHECK(run.trainer({"verify", "a", "--steps", "12..14", "--datapar"}, 3).out ==
        "a is what it claims: 4 steps replayed from a/checkpoints/step-10, 3 checkpoints compared\n");
  CHECK(read_text(run.path("a/chain.jsonl")) == chain);
  const ProgramResult outside = run.trainer({"verify", "a", "--steps", "12..16"});
  CHECK(outside.code == 2);
  CHECK(outside.err.find("error: --steps 12..16: the chain has steps 1 to 15\n") == 0);
}

TEST_CASE("verify names the first step that is not as recorded, and what differs", "[proof]") {
  const SmallRun run;
  train(run, "a");
  const auto answer = [&] {
    const ProgramResult result = run.trainer({"verify", "a"});
    INFO(result.err);
    CHECK(result.code == 1);
    return result.out;
  };
  const std::string config = read_text(run.path("a/config.yaml")), prefix = "a is not what it claims: ";
  write_text(run.path("a/config.yaml"), replaced(config, "lr: 0.1", "lr: 0.2"));
  CHECK(answer() == prefix +
                        "step 1: the update of several tensors, by equal gradients (a learning rate, or "
                        "the optimizer's settings or states)\n");
  write_text(run.path("a/config.yaml"), replaced(config, "seed: 1", "seed: 2"));
  CHECK(answer().find(prefix + "the initial weights") == 0);
  write_text(run.path("a/config.yaml"), config);
  // A pixel of the last image.
  std::string images = read_text(run.path("set/train-images-idx3-ubyte"));
  images.back() ^= 1;
  write_text(run.path("set/train-images-idx3-ubyte"), images);
  const std::string changed = answer();
  CHECK(changed.find(prefix + "step ") == 0);
  CHECK(changed.find(": the batch (sample 39, row ") != std::string::npos);
  images.back() ^= 1;
  write_text(run.path("set/train-images-idx3-ubyte"), images);
  CHECK(run.trainer({"verify", "a"}).code == 0);
  // A line that was changed does not follow from the one before.
  const std::string chain = read_text(run.path("a/chain.jsonl"));
  write_text(run.path("a/chain.jsonl"),
             replaced(chain, "\"step\":3,\"batch\":\"", "\"step\":3,\"batch\":\"0"));
  CHECK(run.trainer({"verify", "a"}).code == 6);
  fs::remove(run.path("a/chain.jsonl"));
  CHECK(run.trainer({"verify", "a"}).err.find("error: a has no chain.jsonl\n") == 0);
}

TEST_CASE("verify names a checkpoint whose weights are not those of the chain", "[proof]") {
  const SmallRun run;
  train(run, "a");
  train(run, "b", {"-s", "train.seed=2"});
  fs::remove_all(run.path("a/checkpoints"));
  fs::copy(run.path("b/checkpoints"), run.path("a/checkpoints"),
           fs::copy_options::recursive | fs::copy_options::copy_symlinks);
  const ProgramResult result = run.trainer({"verify", "a"});
  CHECK(result.code == 1);
  CHECK(result.out ==
        "a is not what it claims: a/checkpoints/step-5: its chain value is not that of its step\n");
}

TEST_CASE("bisect names the step, the layer and the tensor at which two runs part", "[proof]") {
  const SmallRun run;
  train(run, "a", epochs(3));
  train(run, "same", epochs(2));
  train(run, "b", {"-s", "train.epochs=3", "-s", "model.layers[1]={dense: {units: 10, lr: x0.5}}"});
  train(run, "c", {"-s", "train.epochs=3", "-s", "train.seed=2"});
  CHECK(run.trainer({"bisect", "a", "same"}).out == "a and same are equal up to step 10\n");
  CHECK(run.trainer({"bisect", "a", "same"}).code == 0);
  const ProgramResult parted = run.trainer({"bisect", "a", "b"});
  INFO(parted.err);
  CHECK(parted.code == 1);
  CHECK(parted.out ==
        "a and b part at step 1: the update of dense2.weight, dense2.bias, by equal gradients (a learning "
        "rate, or the optimizer's settings or states)\n");
  CHECK(run.trainer({"bisect", "a", "b", "--datapar"}, 2).out == parted.out);
  CHECK(run.trainer({"bisect", "a", "c"}).out.find("a and c part at the initial weights of dense1.weight") ==
        0);
  // Without chains, by their checkpoints.
  for (const char* name : {"a", "b"}) fs::remove(run.path(name) / "chain.jsonl");
  CHECK(run.trainer({"bisect", "a", "b"}).out == parted.out);
}

TEST_CASE("a bundle is verified without its run, and a file that was changed in it is named", "[proof]") {
  const SmallRun run;
  train(run, "a", epochs(2));
  CHECK(run.trainer({"bundle", "a"}).out == "saved a-bundle   check: trainer verify a-bundle\n");
  CHECK(run.trainer({"bundle", "a"}).code == 2);
  const ProgramResult inside = run.shell("cd a && $TRAINER bundle .");
  CHECK(inside.code == 2);
  CHECK(inside.err.find("/a-bundle exists already") != std::string::npos);
  fs::remove_all(run.path("a"));
  CHECK(run.trainer({"verify", "a-bundle"}).code == 0);
  write_text(run.path("a-bundle/command.txt"), "other\n");
  const ProgramResult changed = run.trainer({"verify", "a-bundle"});
  CHECK(changed.code == 6);
  CHECK(changed.err.find("error: a-bundle/command.txt: its SHA-256 is not that of the bundle\n") == 0);
}

TEST_CASE("the chain of a run that diverges has all steps before", "[proof]") {
  const SmallRun run;
  std::vector<std::string> words{"a.yaml", "-o", "a", "-s", "train.optimizer.sgd.lr=1e15"};
  words.insert(words.end(), kChained.begin(), kChained.end());
  const ProgramResult result = run.trainer(words);
  REQUIRE(result.code == 5);
  const std::string chain = read_text(run.path("a/chain.jsonl"));
  const int steps = occurrences(chain, "\n") - 1;
  INFO(result.err);
  CHECK(steps > 0);
  CHECK(result.err.find("step " + std::to_string(steps + 1)) != std::string::npos);
}

TEST_CASE("a chain needs exact mode, and a replay a run that repeats", "[proof]") {
  const SmallRun run;
  const ProgramResult inexact = run.trainer({"a.yaml", "-s", "train.chain=true"});
  CHECK(inexact.code == 2);
  CHECK(inexact.err.find("error: the chain compares bits, and placements agree on bits only in exact mode") ==
        0);
  CHECK(run.trainer(
               {"a.yaml", "-s", "train.exact=true", "-s", "train.chain=true", "-s", "train.local={steps: 2}"})
            .code == 2);
  REQUIRE(run.trainer({"a.yaml", "-o", "a"}).code == 0);
  REQUIRE(run.trainer({"a.yaml", "-o", "b", "-s", "train.seed=2"}).code == 0);
  CHECK(run.trainer({"bisect", "a", "b"}).err.find("error: a cannot be replayed to the bit\n") == 0);
}

}  // namespace trainer
