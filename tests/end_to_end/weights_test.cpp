// Weights that come from other runs and other programs.
#include <catch2/catch.hpp>
#include <cstring>

#include "tests/end_to_end/small_run.h"
#include "tests/support/images.h"

namespace trainer {

namespace fs = std::filesystem;

TEST_CASE("the header names the weights that were loaded and what is frozen", "[weights]") {
  const SmallRun run;
  REQUIRE(run.trainer({"a.yaml", "-o", "first"}).code == 0);
  const std::string weights = "first/checkpoints/best/model.safetensors",
                    frozen = "model.layers[0].dense.frozen=true";
  const std::string header = run.trainer({"a.yaml", "--init", weights, "-s", frozen}).out;
  INFO(header);
  CHECK(header.find("6,370 parameters (24.9 KiB), of which 90 train (frozen: dense1)\n") !=
        std::string::npos);
  CHECK(header.find("\nweights       " + weights + "\n") != std::string::npos);
  const ProgramResult other =
      run.trainer({"a.yaml", "-s", "model.weights={file: " + weights + ", except: [dense2]}"});
  CHECK(other.out.find("\nweights       " + weights + "; initial: dense2\n") != std::string::npos);
  const ProgramResult both =
      run.trainer({"a.yaml", "--init", weights, "-s", "model.weights={file: " + weights + "}"});
  CHECK(both.err.find("warning: --init replaces these weights\n") == 0);
  const std::string weights_only = run.trainer({"a.yaml", "-s", "model.layers[0].dense.frozen=weights"}).out;
  CHECK(weights_only.find("of which 98 train (frozen: dense1.weight)\n") != std::string::npos);
  // A resumed run has the weights of its checkpoint.
  CHECK(run.trainer({"first", "-s", "train.epochs=2"}).out.find("\nweights ") == std::string::npos);
}

TEST_CASE("no epochs write the initial weights, from which --init trains to the same bits", "[weights]") {
  const SmallRun run;
  const ProgramResult start = run.trainer({"a.yaml", "-s", "train.epochs=0", "-o", "start"});
  REQUIRE(start.code == 0);
  CHECK(start.out.find("\ndone  0 steps: test accuracy ") != std::string::npos);
  REQUIRE(run.trainer({"a.yaml", "-o", "straight"}).code == 0);
  REQUIRE(run.trainer({"a.yaml", "--init", "start/checkpoints/last/model.safetensors", "-o", "given"}).code ==
          0);
  const std::string weights = "checkpoints/last/model.safetensors";
  CHECK(read_text(run.path("given") / weights) == read_text(run.path("straight") / weights));
}

TEST_CASE("a trained model lends its layers to one with a last layer of its own, also when that resumes",
          "[weights]") {
  const SmallRun run;
  REQUIRE(run.trainer({"a.yaml", "-o", "first"}).code == 0);
  const std::string weights = "model.weights={file: first/checkpoints/best/model.safetensors, except: [";
  write_text(run.path("b.yaml"), replaced(replaced(kSmallRun, "relu}", "relu, frozen: true}"), "dense: 10",
                                          "dense: {units: 10, name: head}"));
  const ProgramResult refused = run.trainer({"b.yaml", "-s", weights + "]}"});
  CHECK(refused.code == 6);
  CHECK(refused.err.find("the file has no head.weight") != std::string::npos);
  CHECK(refused.err.find("model.weights.except") != std::string::npos);
  CHECK(run.trainer({"b.yaml", "-s", weights + "tail]}"}).code == 2);
  REQUIRE(run.trainer({"b.yaml", "-s", weights + "head]}", "-o", "second", "--datapar"}, 2).code == 0);
  fs::remove_all(run.path("first"));
  CHECK(run.trainer({"second", "-s", "train.epochs=2"}).code == 0);
}

TEST_CASE("weights under other names come in by rules, on any number of ranks, and check lists them",
          "[weights]") {
  const SmallRun run;
  REQUIRE(run.trainer({"a.yaml", "-o", "first"}).code == 0);
  write_text(run.path("b.yaml"), replaced(replaced(kSmallRun, "relu}", "relu, name: body}"), "dense: 10",
                                          "dense: {units: 10, name: head}"));
  const std::string file = "first/checkpoints/last/model.safetensors";
  const auto weights = [&](const std::string& rest) {
    return "model.weights={file: " + file + ", " + rest + "}";
  };
  const std::string rules = weights("map: {dense1: body, \"*e2\": head}");
  const ProgramResult checked = run.trainer({"check", "b.yaml", "-s", rules});
  INFO(checked.out << checked.err);
  CHECK(checked.code == 0);
  CHECK(checked.out.find("4 tensors taken, 0 not used") != std::string::npos);
  CHECK(checked.out.find("weight 8x784, bias 8") != std::string::npos);
  const ProgramResult alone = run.trainer({"b.yaml", "-s", "train.epochs=0", "-s", rules, "-o", "alone"});
  CHECK(alone.out.find(file + " (4 tensors, 4 of them under other names, 0 unused)") != std::string::npos);
  REQUIRE(
      run.trainer({"b.yaml", "-q", "-s", "train.epochs=0", "-s", rules, "-o", "two", "--modelpar"}, 2).code ==
      0);
  const Bytes png = png_bytes(28, 28, 1, repeated(28 * 14, {20, 200}));
  write_text(run.path("image.png"), std::string(png.begin(), png.end()));
  const std::string expected = run.trainer({"predict", "first", "--json", "image.png"}).out;
  CHECK_FALSE(expected.empty());
  for (const char* const path : {"alone", "two"})
    CHECK(run.trainer({"predict", path, "--json", "image.png"}).out == expected);

  const ProgramResult typo = run.trainer({"b.yaml", "-s", weights("map: {dense1: body, densee2: head}")});
  CHECK(typo.code == 6);
  CHECK(typo.err.find("the file has no head.weight 10x8, but dense2.weight 10x8") != std::string::npos);
  CHECK(typo.err.find("no tensor of the file is left for the rule `densee2`; it has dense2") !=
        std::string::npos);
  CHECK(run.trainer({"b.yaml", "-s", weights("map: {dense1: \"b*\"}")}).code == 2);
  CHECK_FALSE(fs::exists(run.path("runs")));
}

TEST_CASE("adapters train beside the weights of a file, and exports have both as one weight", "[weights]") {
  const SmallRun run;
  REQUIRE(run.trainer({"a.yaml", "-o", "first"}).code == 0);
  write_text(run.path("b.yaml"),
             replaced(kSmallRun, "activation: relu}", "activation: relu, lora: {rank: 2}}"));
  const std::string weights = "model.weights={file: first/checkpoints/best/model.safetensors}";
  const ProgramResult checked = run.trainer({"check", "b.yaml", "-s", weights});
  INFO(checked.out << checked.err);
  CHECK(checked.out.find("4 tensors taken, 0 not used") != std::string::npos);
  CHECK(checked.err.find("warning") == std::string::npos);
  CHECK(run.trainer({"check", "b.yaml"}).err.find("no training has changed") != std::string::npos);
  const ProgramResult trained = run.trainer({"b.yaml", "-s", weights, "-o", "adapted", "--modelpar"}, 2);
  INFO(trained.out << trained.err);
  REQUIRE(trained.code == 0);
  CHECK(trained.out.find("of which 1,584 train (frozen: dense1.weight, dense1.bias and dense2)") !=
        std::string::npos);

  REQUIRE(run.trainer({"export", "adapted", "safetensors", "-o", "merged.safetensors"}).code == 0);
  const ProgramResult merged =
      run.trainer({"a.yaml", "--init", "merged.safetensors", "-s", "train.epochs=0", "-o", "merged"});
  INFO(merged.err);
  REQUIRE(merged.code == 0);
  for (const std::string path : {"adapted", "merged"})
    REQUIRE(run.trainer({"export", path, "npz", "-o", path + ".npz"}).code == 0);
  CHECK(read_text(run.path("adapted.npz")) == read_text(run.path("merged.npz")));
  const Bytes png = png_bytes(28, 28, 1, repeated(28 * 14, {20, 200}));
  write_text(run.path("image.png"), std::string(png.begin(), png.end()));
  const auto probabilities = [&](const std::string& path) {
    const std::string content = run.trainer({"predict", path, "--npy", "image.png"}).out;
    std::vector<float> values(10);
    REQUIRE(content.size() > values.size() * sizeof(float));
    std::memcpy(values.data(), content.data() + content.size() - 10 * sizeof(float), 10 * sizeof(float));
    return values;
  };
  const std::vector<float> adapted = probabilities("adapted"), whole = probabilities("merged"),
                           before = probabilities("first");
  CHECK(adapted != before);
  for (std::size_t i = 0; i < adapted.size(); ++i) CHECK(adapted[i] == Approx(whole[i]).margin(1e-5));

  // Without its adapters a run would compute something else.
  const ProgramResult without =
      run.trainer({"a.yaml", "-s", "model.weights={file: adapted/checkpoints/best/model.safetensors}"});
  CHECK(without.code == 6);
  CHECK(without.err.find("has no `lora` here") != std::string::npos);
}

}  // namespace trainer
