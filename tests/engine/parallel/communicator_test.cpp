#include "engine/parallel/communicator.h"

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <limits>
#include <memory>
#include <numeric>
#include <thread>

#include "engine/parallel/mpi_communicator.h"
#include "tests/support/mpi_main.h"

namespace trainer {
namespace {

std::size_t at(int index) { return static_cast<std::size_t>(index); }

/// What rank `rank` contributes at `index`; small whole numbers, so that sums are exact.
float number(int rank, std::int64_t index) { return static_cast<float>((index * 7 + rank * 13) % 101); }

std::vector<float> numbers(int rank, std::int64_t count) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) values[static_cast<std::size_t>(i)] = number(rank, i);
  return values;
}

std::vector<float> sum_of_numbers(int ranks, std::int64_t count) {
  std::vector<float> sums(static_cast<std::size_t>(count));
  for (int rank = 0; rank < ranks; ++rank)
    for (std::int64_t i = 0; i < count; ++i) sums[static_cast<std::size_t>(i)] += number(rank, i);
  return sums;
}

/// Uneven counts; some ranks have none.
std::vector<std::int64_t> uneven_counts(int ranks, std::int64_t scale) {
  std::vector<std::int64_t> counts;
  counts.reserve(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) counts.push_back(rank % 3 == 1 ? 0 : scale * (rank + 1) + 3);
  return counts;
}

std::int64_t sum_before(const std::vector<std::int64_t>& counts, int rank) {
  return std::accumulate(counts.begin(), counts.begin() + rank, std::int64_t{0});
}

/// All ranks, first as they are, then as if each were on a host of its own.
Communicator& any_world() {
  struct Hosts {
    MpiProgress progress;
    std::unique_ptr<MpiCommunicator> world;
  };
  static Hosts hosts;
  if (!hosts.world) {
    MPI_Comm handle = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &handle);
    std::vector<int> each(at(test_world().size()));
    std::iota(each.begin(), each.end(), 0);
    hosts.world = std::make_unique<MpiCommunicator>(handle, test_world().heartbeat(), hosts.progress, each);
  }
  return GENERATE(false, true) ? *hosts.world : test_world();
}

}  // namespace

TEST_CASE("every rank gets the sum and the maximum over all ranks", "[parallel]") {
  Communicator& world = any_world();
  const std::int64_t count = GENERATE(0, 1, 1000);
  const std::vector<float> expected = sum_of_numbers(world.size(), count);

  std::vector<float> floats = numbers(world.rank(), count);
  std::vector<double> doubles(floats.begin(), floats.end()), maxima = doubles;
  std::vector<std::int64_t> integers(floats.begin(), floats.end());
  world.sum(floats);
  world.sum(doubles);
  world.sum(integers);
  world.maximum(maxima);

  CHECK(floats == expected);
  CHECK(std::ranges::equal(doubles, expected));
  CHECK(std::ranges::equal(integers, expected));
  for (std::int64_t i = 0; i < count; ++i) {
    double greatest = 0;
    for (int rank = 0; rank < world.size(); ++rank)
      greatest = std::max(greatest, static_cast<double>(number(rank, i)));
    CHECK(maxima[static_cast<std::size_t>(i)] == greatest);
  }
}

TEST_CASE("a sum of integers is taken modulo 2^64", "[parallel]") {
  Communicator& world = any_world();
  constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();
  std::vector<std::int64_t> integers{kLargest};
  world.sum(integers);
  CHECK(static_cast<std::uint64_t>(integers[0]) ==
        static_cast<std::uint64_t>(kLargest) * static_cast<std::uint64_t>(world.size()));
}

TEST_CASE("sums of few, many and very many counts are those of all ranks", "[parallel]") {
  Communicator& world = any_world();
  const std::size_t count = GENERATE(1, 1000, 100'000);
  std::vector<std::int64_t> counts(count), expected(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto index = static_cast<std::int64_t>(i);
    counts[i] = (world.rank() + 1) * (index + 7);
    expected[i] = world.size() * (world.size() + 1) / 2 * (index + 7);
  }
  world.sum(counts);
  CHECK(counts == expected);
}

TEST_CASE("a sum has the same bits on every rank, whatever its rounding", "[parallel]") {
  Communicator& world = any_world();
  std::vector<float> values(1003);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = 1.f / static_cast<float>(1 + i * 3 + static_cast<std::size_t>(world.rank()) * 17);
  world.sum(values);
  std::vector<float> of_first = values;
  world.broadcast(std::as_writable_bytes(std::span(of_first)), 0);
  CHECK(of_first == values);
}

TEST_CASE("a rank that waits for a count knows the rank that is missing", "[parallel][2+ ranks]") {
  Communicator& world = test_world();
  const int missing = GENERATE(0, 1);
  const auto memory = world.shared(sizeof(std::atomic<int>));
  REQUIRE(memory);
  auto& seen = *reinterpret_cast<std::atomic<int>*>(memory->bytes().data());
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  const auto wait_until = [&](const auto& condition) {
    while (!condition() && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
  };
  {
    const std::jthread watcher([&] {
      if (world.rank() == missing) return;
      wait_until([&] { return world.heartbeat().look().ranks.rank == missing; });
      if (world.heartbeat().look().ranks.rank == missing) ++seen;
    });
    if (world.rank() == missing) wait_until([&] { return seen == world.size() - 1; });
    std::int64_t count = 1;
    world.sum(std::span(&count, 1));
    CHECK(count == world.size());
  }
  world.barrier();
  CHECK(seen == world.size() - 1);
}

TEST_CASE("messages too long for one MPI call arrive whole", "[parallel][1-2 ranks]") {
  Communicator& world = any_world();
  const std::int64_t count = (1 << 22) + 5;
  std::vector<float> values = numbers(world.rank(), count);
  world.sum(values);
  CHECK(values == sum_of_numbers(world.size(), count));
  std::vector<std::int64_t> counts(at(world.size()), count);
  std::vector<float> all(at(world.size()) * values.size());
  world.all_gather(numbers(world.rank(), count), all, counts);
  for (int rank = 0; rank < world.size(); ++rank)
    CHECK(std::ranges::equal(numbers(rank, count),
                             std::span(all).subspan(at(rank) * values.size(), values.size())));
}

TEST_CASE("a broadcast gives all the root's bytes", "[parallel]") {
  Communicator& world = any_world();
  for (int root = 0; root < world.size(); ++root) {
    std::vector<float> values = numbers(world.rank(), 33);
    world.broadcast(std::as_writable_bytes(std::span(values)), root);
    CHECK(values == numbers(root, 33));
  }
}

TEST_CASE("the root gathers every rank's bytes, of whatever length", "[parallel]") {
  Communicator& world = any_world();
  const int root = world.size() - 1;
  const std::vector<float> mine = numbers(world.rank(), world.rank() * 5);
  const auto all = world.gather(std::as_bytes(std::span(mine)), root);
  REQUIRE(std::ssize(all) == (world.rank() == root ? world.size() : 0));
  for (int rank = 0; rank < static_cast<int>(all.size()); ++rank) {
    const std::vector<float> expected = numbers(rank, rank * 5);
    REQUIRE(all[at(rank)].size() == expected.size() * sizeof(float));
    CHECK(std::ranges::equal(all[at(rank)], std::as_bytes(std::span(expected))));
  }
}

TEST_CASE("all ranks gather uneven parts, also in place", "[parallel]") {
  Communicator& world = any_world();
  const auto counts = uneven_counts(world.size(), 20);
  const auto mine_first = static_cast<std::size_t>(sum_before(counts, world.rank()));
  const auto mine_count = counts[at(world.rank())];
  const std::vector<float> mine = numbers(world.rank(), mine_count);
  std::vector<float> all(static_cast<std::size_t>(sum_before(counts, world.size())), -1.f), in_place = all;
  world.start_all_gather(mine, all, counts)->wait();
  std::ranges::copy(mine, in_place.begin() + static_cast<std::ptrdiff_t>(mine_first));
  world.all_gather(std::span(in_place).subspan(mine_first, mine.size()), in_place, counts);

  std::vector<float> expected;
  for (int rank = 0; rank < world.size(); ++rank) {
    const std::vector<float> part = numbers(rank, counts[at(rank)]);
    expected.insert(expected.end(), part.begin(), part.end());
  }
  CHECK(all == expected);
  CHECK(in_place == expected);
}

TEST_CASE("each rank keeps its uneven part of a sum", "[parallel]") {
  Communicator& world = any_world();
  const auto counts = uneven_counts(world.size(), 30);
  const std::int64_t count = sum_before(counts, world.size());
  std::vector<float> first = numbers(world.rank(), count), second = first;
  const auto one = world.start_reduce_scatter(first, counts);
  const auto two = world.start_reduce_scatter(second, counts);
  two->wait();
  while (!one->test()) {
  }
  one->wait();
  const std::vector<float> expected = sum_of_numbers(world.size(), count);
  for (std::int64_t i = sum_before(counts, world.rank()); i < sum_before(counts, world.rank() + 1); ++i) {
    CHECK(first[static_cast<std::size_t>(i)] == expected[static_cast<std::size_t>(i)]);
    CHECK(second[static_cast<std::size_t>(i)] == expected[static_cast<std::size_t>(i)]);
  }
}

TEST_CASE("a reduce-scatter adds in rank order", "[parallel]") {
  Communicator& world = any_world();
  // 1 + 2^-24 + 2^-24 + ... is 1 when added in this order, and more in others.
  std::vector<float> values(at(world.size()), world.rank() == 0 ? 1.f : 0x1p-24f);
  const std::vector<std::int64_t> counts(at(world.size()), 1);
  world.start_reduce_scatter(values, counts)->wait();
  CHECK(values[at(world.rank())] == 1.f);
}

TEST_CASE("blocks go from each rank to each rank", "[parallel]") {
  Communicator& world = any_world();
  // Rank r sends (r + 2 s) % 4 floats to rank s.
  const auto block = [](int from, int to) { return static_cast<std::int64_t>((from + 2 * to) % 4); };
  std::vector<std::int64_t> counts_out, counts_in;
  std::vector<float> out, expected;
  for (int other = 0; other < world.size(); ++other) {
    counts_out.push_back(block(world.rank(), other));
    counts_in.push_back(block(other, world.rank()));
    out.insert(out.end(), static_cast<std::size_t>(counts_out.back()), number(world.rank(), other));
    expected.insert(expected.end(), static_cast<std::size_t>(counts_in.back()), number(other, world.rank()));
  }
  std::vector<float> in(expected.size());
  world.all_to_all(out, counts_out, in, counts_in);
  CHECK(in == expected);
}

TEST_CASE("counts that do not fill the buffer are refused before anything is sent", "[parallel]") {
  Communicator& world = any_world();
  std::vector<float> values(10);
  const std::vector<std::int64_t> counts(at(world.size()), 100);
  CHECK_THROWS_AS(world.start_reduce_scatter(values, counts), std::logic_error);
  CHECK_THROWS_AS(world.all_gather(values, values, counts), std::logic_error);
}

TEST_CASE("a split groups by colour and orders by key", "[parallel]") {
  Communicator& world = test_world();
  const auto part = world.split(world.rank() % 2, -world.rank());
  const int others = (world.size() - world.rank() % 2 + 1) / 2;
  CHECK(part->size() == others);
  CHECK(part->rank() == others - 1 - world.rank() / 2);
  std::int64_t sum = world.rank();
  part->sum(std::span(&sum, 1));
  std::int64_t expected = 0;
  for (int rank = world.rank() % 2; rank < world.size(); rank += 2) expected += rank;
  CHECK(sum == expected);
}

TEST_CASE("groups of the same ranks keep their messages apart, one after the other and at once",
          "[parallel]") {
  Communicator& world = test_world();
  const auto sums = [&](std::unique_ptr<Communicator> group, float value) {
    std::vector<float> values{value};
    group->sum(values);
    return values[0];
  };
  const auto ranks = static_cast<float>(world.size());
  for (int turn = 1; turn <= 3; ++turn) {
    CHECK(sums(world.split(0, world.rank()), static_cast<float>(turn)) == static_cast<float>(turn) * ranks);
    // The last rank is the first: another order of the same ranks.
    const auto reversed = world.split(0, -world.rank());
    CHECK(reversed->rank() == world.size() - 1 - world.rank());
    const auto first = world.split(0, world.rank()), second = world.split(0, world.rank());
    std::vector<float> own{static_cast<float>(turn)}, other{10.0F * static_cast<float>(turn)};
    first->sum(own);
    second->sum(other);
    CHECK(own[0] == static_cast<float>(turn) * ranks);
    CHECK(other[0] == 10.0F * static_cast<float>(turn) * ranks);
  }
}

TEST_CASE("all ranks of a host see one block of memory, zero-filled and aligned", "[parallel]") {
  Communicator& world = test_world();
  const auto host = world.split_by_host();
  CHECK(host->size() == world.size());
  const auto memory = host->shared(100'001);
  REQUIRE(memory);
  const std::span<std::byte> bytes = memory->bytes();
  REQUIRE(bytes.size() == 100'001);
  CHECK(reinterpret_cast<std::uintptr_t>(bytes.data()) % 64 == 0);
  CHECK(std::ranges::all_of(bytes, [](std::byte byte) { return byte == std::byte{0}; }));
  host->barrier();
  for (std::size_t i = at(host->rank()); i < bytes.size(); i += at(host->size()))
    bytes[i] = std::byte(i % 251);
  host->barrier();
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) wrong += bytes[i] != std::byte(i % 251);
  CHECK(wrong == 0);
}

TEST_CASE("a block that /dev/shm has no room for is null on every rank", "[parallel][2+ ranks]") {
  Communicator& world = test_world();
  CHECK(world.shared(std::int64_t{1} << 50) == nullptr);
}

}  // namespace trainer
