// Each rank stands for a host with a folder of its own.
#include "models/checkpoints/snapshot_copies.h"

#include <catch2/catch.hpp>

#include "engine/parallel/broadcast_text.h"
#include "engine/system/files.h"
#include "models/checkpoints/checkpoint.h"
#include "models/checkpoints/checkpoint_folder.h"
#include "tests/support/mpi_main.h"
#include "tests/support/safetensors_writer.h"
#include "tests/support/temporary_folder.h"

namespace trainer {
namespace {

namespace fs = std::filesystem;

void save(const fs::path& folder, std::int64_t step, const std::vector<float>& values) {
  CheckpointFolder checkpoints(folder, 1);
  const fs::path partial = checkpoints.begin(step);
  CheckpointState state{.step = step};
  for (const char* name : {kModelFile, kOptimizerFile}) {
    write_safetensors(partial / name,
                      std::vector<NamedView>{{"a.weight", ConstTensor(values.data(), {std::ssize(values)})}});
    state.files[name] = seal_of(partial / name);
  }
  checkpoints.commit(state, false);
}

}  // namespace

TEST_CASE("every host gets a whole copy of a snapshot and keeps the newest only", "[training]") {
  Communicator& world = test_world();
  const TemporaryFolder mine;
  const fs::path folder = mine.path() / "snapshots";
  const SnapshotCopies copies(world, true, folder);
  copies.begin(0);
  // Above and below the size of a message.
  for (const std::int64_t size : {3, 1'500'000}) {
    const std::vector<float> values(static_cast<std::size_t>(size), 2.5F);
    if (world.rank() == 0) save(folder, size, values);
    CHECK(copies.spread(folder / checkpoint_name(size)).empty());
    const Checkpoint copy = read_checkpoint(folder / "last");
    CHECK(copy.state.step == size);
    CHECK(copy.model.at(0).values == values);
    CHECK(checkpoint_steps(folder) == std::vector<std::int64_t>{size});
  }
}

TEST_CASE("ranks that see the folder of rank 0 write no copy", "[training]") {
  Communicator& world = test_world();
  const TemporaryFolder mine;
  std::string shared = mine.path().string();
  broadcast_text(world, shared);
  const fs::path folder = fs::path(shared) / "snapshots";
  const SnapshotCopies copies(world, true, folder);
  copies.begin(0);
  if (world.rank() == 0) save(folder, 7, {1});
  CHECK(copies.spread(folder / checkpoint_name(7)).empty());
  CHECK(step_behind(folder / "last") == 7);
  CHECK(fs::is_empty(mine.path()) == (world.rank() > 0));
  world.barrier();
}

TEST_CASE("a run keeps the snapshot that it resumes from, and no other or half one", "[training]") {
  Communicator& world = test_world();
  const TemporaryFolder mine;
  const fs::path folder = mine.path() / "snapshots";
  save(folder, 20, {1});
  CheckpointFolder(folder).begin(40);
  const SnapshotCopies copies(world, true, folder);
  copies.begin(20);
  CHECK(std::distance(fs::directory_iterator(folder), fs::directory_iterator()) == 2);
  CHECK(step_behind(folder / "last") == 20);
  copies.begin(30);
  CHECK_FALSE(fs::exists(folder));
}

TEST_CASE("one host without room, or without the folder, is known to all ranks", "[training]") {
  Communicator& world = test_world();
  const TemporaryFolder mine;
  const fs::path folder = mine.path() / "snapshots";
  const SnapshotCopies copies(world, true, folder);
  const bool is_last = world.rank() + 1 == world.size();
  CHECK(copies.lack_of_room(1000).empty());
  CHECK_THAT(copies.lack_of_room(is_last ? std::uint64_t{1} << 62 : 1000), Catch::EndsWith(" bytes of room"));
  if (world.size() == 1) return;
  if (world.rank() == 0) save(folder, 5, {1, 2});
  if (is_last) fs::remove_all(mine.path());
  CHECK_THAT(copies.spread(folder / checkpoint_name(5)), Catch::StartsWith("cannot write "));
  CHECK(fs::exists(folder / "last") == !is_last);
}

}  // namespace trainer
