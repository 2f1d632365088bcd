// --shard: results, and what it excludes.
#include <catch2/catch.hpp>
#include <fstream>
#include <sstream>

#include "tests/end_to_end/small_run.h"

namespace trainer {
namespace {

std::string weights_of(const SmallRun& run, const std::string& name) {
  std::ifstream file(run.path(name + "/checkpoints/last/model.safetensors"), std::ios::binary);
  std::ostringstream bytes;
  bytes << file.rdbuf();
  return bytes.str();
}

}  // namespace

TEST_CASE("in exact mode --shard gives the weights of one process, in a resumed run and a replay, too",
          "[sharding]") {
  const SmallRun run;
  const std::vector<std::string> settings{"-q",
                                          "-s",
                                          "train.exact=true",
                                          "-s",
                                          "train.epochs=2",
                                          "-s",
                                          "model.layers[0].dense.units=2000",
                                          "-s",
                                          "train.optimizer={adam: {lr: 0.01}}"};
  const auto train = [&](std::vector<std::string> words, int ranks, int code = 0) {
    words.insert(words.begin(), "a.yaml");
    words.insert(words.end(), settings.begin(), settings.end());
    const ProgramResult result = run.trainer(words, ranks);
    INFO(result.out << result.err);
    CHECK(result.code == code);
  };
  train({"-o", "alone"}, 1);
  train({"-o", "gradients", "--datapar", "--shard", "gradients"}, 2);
  train({"-o", "parameters", "--datapar", "--shard", "parameters"}, 3);
  CHECK(weights_of(run, "alone").size() > 4 * 2000 * 784);
  CHECK(weights_of(run, "gradients") == weights_of(run, "alone"));
  CHECK(weights_of(run, "parameters") == weights_of(run, "alone"));

  train({"-o", "proven", "-s", "train.chain=true"}, 1);
  const ProgramResult verified =
      run.trainer({"verify", "proven", "--datapar", "--shard", "parameters", "--ranks-per-node", "1"}, 2);
  INFO(verified.out << verified.err);
  CHECK(verified.code == 0);

  train({"-o", "moved", "--datapar", "--shard", "parameters", "--until", "0.3"}, 2, 130);
  const ProgramResult resumed = run.trainer({"moved", "-q", "--datapar", "--shard", "gradients"}, 2);
  INFO(resumed.out << resumed.err);
  CHECK(resumed.code == 0);
  CHECK(weights_of(run, "moved") == weights_of(run, "alone"));
}

TEST_CASE("what --shard excludes ends with code 4 before any process starts", "[sharding]") {
  const SmallRun run;
  const ProgramResult mesh = run.trainer({"a.yaml", "--mesh", "1x2", "--shard", "parameters"}, 2);
  CHECK(mesh.code == 4);
  CHECK(mesh.err.find("error: --shard parameters shards over data ranks") == 0);
  CHECK(mesh.err.find("help: --datapar --shard parameters") != std::string::npos);
  const ProgramResult compressed =
      run.trainer({"a.yaml", "--datapar", "--shard", "gradients", "-s", "train.compression=one_bit"}, 2);
  CHECK(compressed.code == 4);
  CHECK(compressed.err.find("error: --shard gradients and train.compression exclude each other") == 0);
  for (const char* const command : {"time", "lr-find"}) {
    const ProgramResult checked = run.trainer({command, "a.yaml", "--datapar", "--shard", "parameters", "-s",
                                               "train.exact=true", "-s", "train.crosscheck=2"},
                                              2);
    INFO(checked.out << checked.err);
    CHECK(checked.code == 4);
    CHECK(checked.err.find("error: --shard parameters and train.crosscheck exclude each other") == 0);
    CHECK(run.trainer({command, "a.yaml", "--mesh", "1x2", "--shard", "gradients"}, 2).code == 4);
  }
  const ProgramResult unknown = run.trainer({"a.yaml", "--shard", "weights"});
  CHECK(unknown.code == 2);
  CHECK(unknown.err.find("gradients") != std::string::npos);
}

}  // namespace trainer
