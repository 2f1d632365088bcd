#include "engine/parallel/mpi_remote_memory.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <thread>
#include <vector>

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

TEST_CASE("a counter that a rank sees follows all bytes of the messages before it", "[async]") {
  AllRanks all(GENERATE(false, true));
  // More than MPI gets at once, and no multiple of it.
  constexpr std::int64_t kBytes = (5 << 19) + 3, kRoom = 3 << 20;
  const auto pattern = [](int from, int to, std::int64_t i) {
    return static_cast<std::byte>(i * 7 + from * 31 + to * 3 + 1);
  };
  const int ranks = test_world().size(), rank = all.group.rank;
  MpiRemoteMemory memory(all.group, ranks * kRoom, GENERATE(false, true));
  const std::int64_t counter = kRoom - 8;  // of each sender's room

  std::vector<std::vector<std::byte>> sent(static_cast<std::size_t>(ranks));
  std::vector<RemoteMemory::Message> messages;
  std::vector<RemoteMemory::Counter> counters;
  for (int to = 0; to < ranks; ++to) {
    std::vector<std::byte>& bytes = sent[static_cast<std::size_t>(to)];
    for (std::int64_t i = 0; i < kBytes; ++i) bytes.push_back(pattern(rank, to, i));
    messages.push_back({.rank = to, .offset = rank * kRoom, .bytes = bytes});
    messages.push_back({.rank = to, .offset = rank * kRoom, .bytes = {}});
    counters.push_back({.rank = to, .offset = rank * kRoom + counter, .value = rank + 1});
  }
  memory.write(messages);
  memory.set(counters);

  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  for (int from = 0; from < ranks; ++from) {
    while (memory.count(from * kRoom + counter) == 0 && std::chrono::steady_clock::now() < deadline)
      memory.receive();
    REQUIRE(memory.count(from * kRoom + counter) == from + 1);
    std::int64_t wrong = 0;
    for (std::int64_t i = 0; i < kBytes; ++i)
      wrong += memory.own()[static_cast<std::size_t>(from * kRoom + i)] != pattern(from, rank, i) ? 1 : 0;
    CHECK(wrong == 0);
    CHECK(memory.own()[static_cast<std::size_t>(from * kRoom + kBytes)] == std::byte{});
  }
  memory.close();
}

}  // namespace trainer
