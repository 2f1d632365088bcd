#include "models/checkpoints/checkpoint.h"

#include <catch2/catch.hpp>
#include <fstream>

#include "engine/core/error.h"
#include "models/checkpoints/checkpoint_folder.h"
#include "tests/support/safetensors_writer.h"
#include "tests/support/temporary_folder.h"

namespace trainer {
namespace {

namespace fs = std::filesystem;

Checkpoint checkpoint(std::int64_t step, float number) {
  return {.model = {{"a.weight", {1}, {number}}},
          .optimizer = {{"a.weight.momentum", {1}, {-number}}},
          .state = {.step = step}};
}

std::vector<NamedView> views(const std::vector<NamedTensor>& tensors) {
  std::vector<NamedView> views;
  views.reserve(tensors.size());
  for (const NamedTensor& tensor : tensors)
    views.push_back({tensor.name, ConstTensor(tensor.values.data(), tensor.shape)});
  return views;
}

void save(CheckpointFolder& folder, Checkpoint checkpoint, bool best) {
  const fs::path partial = folder.begin(checkpoint.state.step);
  write_safetensors(partial / kModelFile, views(checkpoint.model));
  write_safetensors(partial / kOptimizerFile, views(checkpoint.optimizer));
  for (const char* name : {kModelFile, kOptimizerFile})
    checkpoint.state.files[name] = seal_of(partial / name);
  folder.commit(checkpoint.state, best);
}

float number_in(const fs::path& folder) {
  return read_safetensors(folder / "model.safetensors").tensors.at(0).values.at(0);
}

/// A link as a copy has it that was made with links followed.
void copy_behind(const fs::path& link) {
  const fs::path behind = link.parent_path() / fs::read_symlink(link);
  fs::remove(link);
  fs::copy(behind, link);
}

}  // namespace

TEST_CASE("last and best are relative links to whole checkpoints; the newest and the best stay",
          "[training]") {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "checkpoints";
  const int keep = GENERATE(1, 2);
  CheckpointFolder checkpoints(path, keep);
  CHECK(checkpoints.last().empty());
  save(checkpoints, checkpoint(10, 1), true);
  save(checkpoints, checkpoint(20, 2), false);
  save(checkpoints, checkpoint(30, 3), false);
  CHECK(fs::read_symlink(path / "last") == "step-30");
  CHECK(fs::read_symlink(path / "best") == "step-10");
  CHECK(number_in(path / "last") == 3);
  CHECK(number_in(path / "best") == 1);
  CHECK(fs::exists(path / "step-20") == (keep == 2));
  CHECK(fs::exists(path / "last" / "optimizer.safetensors"));
  CHECK(fs::exists(path / "last" / "state.json"));
  CHECK(checkpoints.last() == path / "step-30");
}

TEST_CASE("the files of an interrupted save are removed by the next run", "[training]") {
  const TemporaryFolder folder;
  fs::create_directories(folder.path() / "step-5.123.partial");
  std::ofstream(folder.path() / "step-5.123.partial" / "model.safetensors") << "half";
  CheckpointFolder checkpoints(folder.path());
  checkpoints.resume(0, 0);
  CHECK(fs::is_empty(folder.path()));
}

TEST_CASE("a checkpoint that was being replaced when the process was killed gets its name back",
          "[training]") {
  const TemporaryFolder folder;
  CheckpointFolder checkpoints(folder.path());
  save(checkpoints, checkpoint(5, 1), false);
  fs::rename(folder.path() / "step-5", folder.path() / "step-5.partial");
  fs::create_directory(folder.path() / "step-5.123-4.partial");
  restore_replaced(folder.path());
  CHECK(number_in(folder.path() / "last") == 1);
  fs::create_directory(folder.path() / "step-5.partial");
  restore_replaced(folder.path());
  CHECK(number_in(folder.path() / "last") == 1);
  restore_replaced(folder.path() / "missing");
}

TEST_CASE("a copy that was made with links followed resumes, and has links again", "[training]") {
  const TemporaryFolder folder;
  CheckpointFolder checkpoints(folder.path());
  save(checkpoints, checkpoint(10, 1), true);
  save(checkpoints, checkpoint(20, 2), false);
  for (const char* link : {"last", "best"}) copy_behind(folder.path() / link);
  CHECK(step_behind(folder.path() / "last") == 20);
  CHECK(step_behind(folder.path() / "best") == 10);
  CheckpointFolder copied(folder.path());
  SECTION("all is there") {}
  SECTION("step directories were not copied") {
    for (const char* name : {"step-10", "step-20"}) fs::remove_all(folder.path() / name);
  }
  SECTION("step directories were copied in part") {
    for (const char* name : {"step-10", "step-20"}) fs::remove(folder.path() / name / "state.json");
  }
  SECTION("killed while it was set right") {
    fs::rename(folder.path() / "last", folder.path() / "last.partial");
    fs::remove_all(folder.path() / "step-10");
    fs::rename(folder.path() / "best", folder.path() / "step-10");
  }
  SECTION("of which another process has set one right") {
    fs::remove_all(folder.path() / "best");
    fs::create_directory_symlink("step-10", folder.path() / "best");
  }
  copied.resume(20, 10);
  CHECK(fs::read_symlink(folder.path() / "last") == "step-20");
  CHECK(fs::read_symlink(folder.path() / "best") == "step-10");
  for (const int step : {30, 40, 50}) save(copied, checkpoint(step, static_cast<float>(step)), step == 50);
  CHECK(fs::read_symlink(folder.path() / "last") == "step-50");
  CHECK(fs::read_symlink(folder.path() / "best") == "step-50");
  for (const fs::directory_entry& entry : fs::directory_iterator(folder.path()))
    CHECK(entry.path().extension() != ".partial");
}

TEST_CASE("a copy's checkpoint that is nowhere else stays when the run goes back", "[training]") {
  const TemporaryFolder folder;
  CheckpointFolder checkpoints(folder.path());
  save(checkpoints, checkpoint(10, 1), true);
  save(checkpoints, checkpoint(20, 2), true);
  for (const char* link : {"last", "best"}) copy_behind(folder.path() / link);
  fs::remove_all(folder.path() / "step-20");
  CheckpointFolder copied(folder.path());
  copied.resume(10, 10);
  CHECK(fs::read_symlink(folder.path() / "last") == "step-10");
  CHECK(fs::read_symlink(folder.path() / "best") == "step-10");
  CHECK(read_checkpoint(folder.path() / "step-20").model.at(0).values.at(0) == 2);
}

TEST_CASE(
    "a directory in a link's place that is no copy of the checkpoint of its step is reported, not removed",
    "[training]") {
  const TemporaryFolder folder, other;
  CheckpointFolder checkpoints(folder.path()), others(other.path());
  save(checkpoints, checkpoint(10, 1), true);
  save(others, checkpoint(10, 2), false);
  const fs::path link = folder.path() / GENERATE("last", "best");
  fs::remove(link);
  fs::copy(other.path() / "step-10", link);
  CHECK_THROWS_WITH(CheckpointFolder(folder.path()).resume(10, 10),
                    Catch::Contains(link.string() + " is another checkpoint than the step-10 beside it"));
  CHECK(number_in(link) == 2);
  CHECK(number_in(folder.path() / "step-10") == 1);
}

TEST_CASE("a damaged directory in a link's place is reported with what is right, and not removed",
          "[training]") {
  const TemporaryFolder folder;
  CheckpointFolder checkpoints(folder.path());
  for (const int step : {10, 20}) save(checkpoints, checkpoint(step, 1), true);
  const fs::path link = folder.path() / GENERATE("last", "best");
  copy_behind(link);
  fs::resize_file(link / "model.safetensors", 3);
  const std::string right = "rm -r " + link.string() + ", and the newest checkpoint beside it is used";
  CHECK_THROWS_WITH(read_checkpoint(link), Catch::Contains("is damaged") && Catch::Contains(right));
  CheckpointFolder copied(folder.path());
  CHECK_THROWS_WITH(copied.resume(20, 20), Catch::Contains("is damaged") && Catch::Contains(right));
  fs::remove_all(link);
  CHECK(read_checkpoint(newest_checkpoint(folder.path())).state.step == 20);
  copied.resume(20, 20);
  CHECK(fs::read_symlink(link) == "step-20");
}

TEST_CASE("a run that goes back keeps later checkpoints until it reaches them again", "[training]") {
  const TemporaryFolder folder;
  CheckpointFolder checkpoints(folder.path(), 3);
  for (const int step : {10, 20, 30})
    save(checkpoints, checkpoint(step, static_cast<float>(step)), step == 30);
  CheckpointFolder again(folder.path(), 3);
  again.resume(10, 10);
  CHECK(fs::read_symlink(folder.path() / "last") == "step-10");
  CHECK(fs::read_symlink(folder.path() / "best") == "step-10");
  CHECK(number_in(folder.path() / "step-30") == 30);
  save(again, checkpoint(20, 21), false);
  CHECK(number_in(folder.path() / "last") == 21);
  CHECK(number_in(folder.path() / "step-30") == 30);
  CHECK(read_checkpoint(folder.path() / "step-20").state.step == 20);
}

TEST_CASE("a run directory that is gone, or a link in its place, is reported and not made again",
          "[training]") {
  const TemporaryFolder folder;
  CheckpointFolder gone(folder.path() / "run" / "checkpoints");
  CHECK_THROWS_WITH(gone.begin(1), Catch::Contains("No such file or directory"));
  fs::create_directory(folder.path() / "elsewhere");
  fs::create_directory_symlink("elsewhere", folder.path() / "checkpoints");
  CheckpointFolder linked(folder.path() / "checkpoints");
  CHECK_THROWS_WITH(linked.begin(1), Catch::Contains("is a link"));
  CHECK(fs::is_empty(folder.path() / "elsewhere"));
}

TEST_CASE("a checkpoint comes back as it was saved", "[training]") {
  const TemporaryFolder folder;
  CheckpointFolder checkpoints(folder.path());
  save(checkpoints, checkpoint(7, 0.5), false);
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
  save(checkpoints, checkpoint(8, 1), true);
  save(checkpoints, checkpoint(9, 2), false);
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
  CheckpointFolder checkpoints(elsewhere.path());
  save(checkpoints, checkpoint(1, 1), true);
  const std::string name = GENERATE("last", "best");
  const fs::path link = folder.path() / name;
  fs::create_directory_symlink(elsewhere.path() / "step-1", link);
  CHECK(CheckpointFolder(folder.path()).last().empty());
  const std::string message = link.string() + " is a link to " + (elsewhere.path() / "step-1").string() +
                              ", not to a checkpoint beside it";
  CHECK_THROWS_WITH(read_checkpoint(link), Catch::Contains(message));
  CHECK_THROWS_WITH(read_checkpoint(link), Catch::Contains("rm " + link.string()));
  fs::create_directory(folder.path() / "step-20");
  const std::string right = (name == "last" ? "ln -sfn step-20 " : "rm ") + link.string();
  CHECK_THROWS_WITH(read_checkpoint(link), Catch::Contains(right));
}

TEST_CASE("a copied link without its checkpoint is answered with how to copy that", "[training]") {
  const TemporaryFolder folder;
  fs::create_directory_symlink("step-1", folder.path() / "best");
  CHECK_THROWS_WITH(read_checkpoint(folder.path() / "best"), Catch::Contains("cp -rL"));
}

TEST_CASE("a checkpoint that is a link, or whose files are links, is not followed", "[training]") {
  const TemporaryFolder folder, elsewhere;
  CheckpointFolder checkpoints(folder.path()), others(elsewhere.path());
  for (const int step : {10, 20}) save(checkpoints, checkpoint(step, 1), true);
  save(others, checkpoint(20, 2), true);
  const fs::path place = folder.path() / "step-20";
  const std::string name = GENERATE("", "model.safetensors", "optimizer.safetensors", "state.json");
  const fs::path link = name.empty() ? place : place / name;
  const fs::path target = name.empty() ? elsewhere.path() / "step-20" : elsewhere.path() / "step-20" / name;
  fs::remove_all(link);
  fs::create_symlink(target, link);
  const fs::path path = folder.path() / GENERATE("last", "best", "step-20");
  CHECK_THROWS_WITH(
      read_checkpoint(path),
      Catch::Contains(link.string() + " is a link to " + target.string()) &&
          Catch::Contains("a link to elsewhere is not followed: its target may belong to another run") &&
          Catch::Contains("rm " + link.string()));
  CHECK_THROWS_AS(present_checkpoint(path), Error);
  CHECK(read_checkpoint(folder.path() / "step-10").state.step == 10);
  // A link behind which nothing is, too.
  fs::remove_all(target);
  CHECK_THROWS_WITH(present_checkpoint(path), Catch::Contains(link.string() + " is a link to "));
}

TEST_CASE("a folder of checkpoints that is a link is read", "[training]") {
  const TemporaryFolder folder, elsewhere;
  CheckpointFolder checkpoints(elsewhere.path());
  save(checkpoints, checkpoint(10, 1), true);
  fs::create_directory_symlink(elsewhere.path(), folder.path() / "checkpoints");
  for (const char* name : {"last", "best", "step-10"})
    CHECK(read_checkpoint(folder.path() / "checkpoints" / name).state.step == 10);
}

TEST_CASE("a checkpoint under the name of another step is damaged, and the one before is offered",
          "[training]") {
  const TemporaryFolder folder;
  CheckpointFolder checkpoints(folder.path());
  for (const int step : {10, 20}) save(checkpoints, checkpoint(step, 1), true);
  fs::rename(folder.path() / "step-20", folder.path() / "step-30");
  CHECK_THROWS_WITH(
      read_checkpoint(folder.path() / "step-30"),
      Catch::Contains((folder.path() / "step-30" / "state.json").string() +
                      " is damaged: it is of step 20") &&
          Catch::Contains("the checkpoint before it: trainer " + (folder.path() / "step-10").string()));
}

TEST_CASE("a link to a checkpoint that is gone reports what is there and how to set it right", "[training]") {
  const TemporaryFolder folder;
  CheckpointFolder checkpoints(folder.path(), 3);
  for (const int step : {8, 10, 20}) save(checkpoints, checkpoint(step, 1), false);
  const fs::path last = folder.path() / "last";
  fs::remove_all(folder.path() / "step-20");
  CHECK_THROWS_WITH(read_checkpoint(last),
                    Catch::Contains(last.string() + " is a link to step-20, which is not there") &&
                        Catch::Contains("beside it: step-8, step-10") &&
                        Catch::Contains("ln -sfn step-10 " + last.string()));
  fs::remove_all(folder.path() / "step-10");
  fs::remove_all(folder.path() / "step-8");
  CHECK_THROWS_WITH(read_checkpoint(last),
                    Catch::Contains("no checkpoint is beside it") && Catch::Contains("rm " + last.string()));
}

TEST_CASE("a checkpoint that cannot be written is an error that names the path", "[training]") {
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "file") << "in the way";
  CheckpointFolder checkpoints(folder.path() / "file");
  CHECK_THROWS_WITH(save(checkpoints, checkpoint(1, 1), true), Catch::Contains("file"));
}

}  // namespace trainer
