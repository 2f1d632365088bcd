#include "models/training/checkpoint.h"

#include <catch2/catch.hpp>
#include <fstream>

#include "engine/core/error.h"
#include "tests/support/temporary_folder.h"

namespace trainer {
namespace {

namespace fs = std::filesystem;

Checkpoint checkpoint(std::int64_t step, float number) {
  return {.model = {{"a.weight", {1}, {number}}},
          .optimizer = {{"a.weight.momentum", {1}, {-number}}},
          .state = {.step = step}};
}

float number_in(const fs::path& folder) {
  return read_safetensors(folder / "model.safetensors").tensors.at(0).values.at(0);
}

}  // namespace

TEST_CASE("last and best are relative links to whole checkpoints; the newest and the best stay",
          "[training]") {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "checkpoints";
  const int keep = GENERATE(1, 2);
  CheckpointFolder checkpoints(path, keep);
  CHECK(checkpoints.last().empty());
  checkpoints.save(checkpoint(10, 1), true);
  checkpoints.save(checkpoint(20, 2), false);
  checkpoints.save(checkpoint(30, 3), false);
  CHECK(fs::read_symlink(path / "last") == "step-30");
  CHECK(fs::read_symlink(path / "best") == "step-10");
  CHECK(number_in(path / "last") == 3);
  CHECK(number_in(path / "best") == 1);
  CHECK(fs::exists(path / "step-20") == (keep == 2));
  CHECK(fs::exists(path / "last" / "optimizer.safetensors"));
  CHECK(fs::exists(path / "last" / "state.json"));
  CHECK(checkpoints.last() == path / "step-30");
}

TEST_CASE("what an interrupted save left behind does not hinder the next", "[training]") {
  const TemporaryFolder folder;
  fs::create_directories(folder.path() / "step-5.partial");
  std::ofstream(folder.path() / "step-5.partial" / "model.safetensors") << "half";
  CheckpointFolder checkpoints(folder.path());
  checkpoints.save(checkpoint(5, 5), true);
  CHECK(number_in(folder.path() / "best") == 5);
  CHECK_FALSE(fs::exists(folder.path() / "step-5.partial"));
}

TEST_CASE("a checkpoint comes back as it was saved", "[training]") {
  const TemporaryFolder folder;
  CheckpointFolder(folder.path()).save(checkpoint(7, 0.5), false);
  for (const char* name : {"last", "step-7"}) {
    const Checkpoint back = read_checkpoint(folder.path() / name);
    CHECK(back.state.step == 7);
    CHECK(back.model.at(0).values == std::vector<float>{0.5});
    CHECK(back.optimizer.at(0).name == "a.weight.momentum");
  }
}

TEST_CASE("damage is found in whatever file it is, and the checkpoint before is offered", "[training]") {
  const TemporaryFolder folder;
  CheckpointFolder checkpoints(folder.path());
  checkpoints.save(checkpoint(8, 1), true);
  checkpoints.save(checkpoint(9, 2), false);
  const fs::path file =
      folder.path() / "step-9" / GENERATE("model.safetensors", "optimizer.safetensors", "state.json");
  SECTION("cut short") { fs::resize_file(file, fs::file_size(file) - 5); }
  SECTION("gone") { fs::remove(file); }
  SECTION("one bit flipped") {
    std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
    stream.seekg(-3, std::ios::end);
    const int byte = stream.peek();
    stream.seekp(-3, std::ios::end);
    stream.put(static_cast<char>(byte ^ 4));
  }
  try {
    read_checkpoint(folder.path() / "last");
    FAIL("damage in " << file << " was not found");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::weights);
    CHECK(std::string(error.what()).find(file.string()) != std::string::npos);
    CHECK(std::string(error.what()).find("trainer " + (folder.path() / "step-8").string()) !=
          std::string::npos);
  }
  CHECK(read_checkpoint(folder.path() / "best").state.step == 8);
}

TEST_CASE("a link that leads out of the folder is not followed", "[training]") {
  const TemporaryFolder folder, elsewhere;
  CheckpointFolder(elsewhere.path()).save(checkpoint(1, 1), true);
  fs::create_directory_symlink(elsewhere.path() / "step-1", folder.path() / "last");
  CHECK(CheckpointFolder(folder.path()).last().empty());
}

TEST_CASE("a checkpoint that cannot be written is an error that names the path", "[training]") {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "file") << "in the way";
  CheckpointFolder checkpoints(folder.path() / "file");
  CHECK_THROWS_WITH(checkpoints.save(checkpoint(1, 1), true), Catch::Contains("file"));
}

}  // namespace trainer
