#include "engine/parallel/mpi_remote_memory.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <thread>

#include "tests/engine/parallel/all_ranks.h"

namespace trainer {

// MPI_Iprobe of MPICH moves no messages while one that it finds waits to be received.
TEST_CASE("a message of another exchange does not hold up one-sided messages", "[async][2+ ranks]") {
  AllRanks all(GENERATE(false, true));
  MpiRemoteMemory memory(all.group, 64, GENERATE(false, true));
  INFO("between hosts " << all.group.between_hosts);
  const std::byte sent{42};
  if (all.group.rank == 0) {
    MpiExchange exchange(all.group);
    exchange.send(std::span(&sent, 1), 1);
    exchange.start();
    const RemoteMemory::Counter counter{.rank = 1, .value = 7};
    memory.set({&counter, 1});
    exchange.wait();
  } else if (all.group.rank == 1) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (memory.count(0) == 0 && std::chrono::steady_clock::now() < deadline) {
      memory.receive();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    CHECK(memory.count(0) == 7);
    std::byte received{};
    MpiExchange exchange(all.group);
    exchange.receive(std::span(&received, 1), 0);
    exchange.start();
    exchange.wait();
    CHECK(received == sent);
  }
  memory.close();
}

}  // namespace trainer
