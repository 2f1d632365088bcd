#include "engine/parallel/wait_for_all.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <stdexcept>
#include <thread>

#include "tests/support/mpi_main.h"

namespace trainer {
namespace {

using namespace std::chrono_literals;
constexpr int kNoRank = -1;

}  // namespace

TEST_CASE("a disk may take longer than a rank may wait", "[parallel]") {
  Communicator& world = test_world();
  const double usual = world.heartbeat().look().ranks.patience;
  world.heartbeat().set_patience(0.4);  // the watchdog would end the tests
  bool is_done = false;
  with_disk(world, "a test", world.rank() == 0, [&] {
    std::this_thread::sleep_for(900ms);
    is_done = true;
  });
  CHECK(is_done == (world.rank() == 0));
  world.barrier();
  world.heartbeat().set_patience(usual);
}

TEST_CASE("no rank resumes before all are done", "[parallel]") {
  Communicator& world = test_world();
  const int slow = GENERATE(0, 1);
  if (slow >= world.size()) return;
  const auto begun = std::chrono::steady_clock::now();
  const auto is_done = [&] {
    return world.rank() != slow || std::chrono::steady_clock::now() - begun > 100ms;
  };
  world.barrier();
  wait_for_all(world, "a test", is_done);
  CHECK(std::chrono::steady_clock::now() - begun >= 90ms);
}

TEST_CASE("an exception of a rank's work is thrown on that rank", "[parallel]") {
  Communicator& world = test_world();
  const int who = GENERATE(kNoRank, 0);
  const auto work = [&] {
    if (world.rank() == who) throw std::runtime_error("no disk");
  };
  if (world.rank() == who)
    CHECK_THROWS_WITH(with_disk(world, "a test", true, work), "no disk");
  else
    CHECK_NOTHROW(with_disk(world, "a test", true, work));
}

TEST_CASE("a group knows the world ranks of its ranks", "[parallel]") {
  Communicator& world = test_world();
  const auto group = world.split(world.rank() % 2, -world.rank());
  CHECK(group->world_rank(group->rank()) == world.rank());
  const auto part = group->split(0, -group->rank());
  for (int rank = 0; rank < part->size(); ++rank)
    CHECK(part->world_rank(rank) == group->world_rank(part->size() - 1 - rank));
}

}  // namespace trainer
