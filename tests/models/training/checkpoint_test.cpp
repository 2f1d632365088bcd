#include "models/training/checkpoint.h"

#include <catch2/catch.hpp>
#include <fstream>

#include "engine/core/error.h"
#include "tests/support/temporary_folder.h"

namespace trainer {
namespace {

namespace fs = std::filesystem;

Checkpoint checkpoint(float number) {
  return {.model = {{"a.weight", {1}, {number}}},
          .optimizer = {{"a.weight.momentum", {1}, {-number}}},
          .state = "{}\n"};
}

float number_in(const fs::path& folder) {
  return read_safetensors(folder / "model.safetensors").tensors.at(0).values.at(0);
}

}  // namespace

TEST_CASE("last and best are relative links to whole checkpoints, and no others stay", "[training]") {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "checkpoints";
  CheckpointFolder checkpoints(path);
  CHECK(checkpoints.last().empty());
  checkpoints.save(10, checkpoint(1), true);
  checkpoints.save(20, checkpoint(2), false);
  checkpoints.save(30, checkpoint(3), false);
  CHECK(fs::read_symlink(path / "last") == "step-30");
  CHECK(fs::read_symlink(path / "best") == "step-10");
  CHECK(number_in(path / "last") == 3);
  CHECK(number_in(path / "best") == 1);
  CHECK_FALSE(fs::exists(path / "step-20"));
  CHECK(fs::exists(path / "last" / "optimizer.safetensors"));
  CHECK(fs::exists(path / "last" / "state.json"));
  CHECK(checkpoints.last() == path / "step-30");
}

TEST_CASE("what an interrupted save left behind does not hinder the next", "[training]") {
  const TemporaryFolder folder;
  fs::create_directories(folder.path() / "step-5.partial");
  std::ofstream(folder.path() / "step-5.partial" / "model.safetensors") << "half";
  CheckpointFolder checkpoints(folder.path());
  checkpoints.save(5, checkpoint(5), true);
  CHECK(number_in(folder.path() / "best") == 5);
  CHECK_FALSE(fs::exists(folder.path() / "step-5.partial"));
}

TEST_CASE("a checkpoint that cannot be written is an error that names the path", "[training]") {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "file") << "in the way";
  CheckpointFolder checkpoints(folder.path() / "file");
  CHECK_THROWS_WITH(checkpoints.save(1, checkpoint(1), true), Catch::Contains("file"));
}

}  // namespace trainer
