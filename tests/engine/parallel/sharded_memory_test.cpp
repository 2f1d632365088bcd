// Sharded gradients and parameters: what has memory, and when.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <vector>

#include "engine/core/index.h"
#include "engine/parallel/gradient_reducer.h"
#include "engine/parallel/paged_memory.h"
#include "tests/support/mpi_main.h"

namespace trainer {
namespace {

/// Layers of 24 pages each, whose ends are no ends of pages.
constexpr std::int64_t kLayer = 24 * 1024 + 16;
constexpr int kLayers = 12;

std::vector<std::int64_t> borders() {
  std::vector<std::int64_t> result;
  for (int layer = 0; layer <= kLayers; ++layer) result.push_back(layer * kLayer);
  return result;
}

Range range_of(int layer) { return {layer * kLayer, (layer + 1) * kLayer}; }

/// Floats of the pages that these floats touch and that are in memory.
std::int64_t resident(std::span<float> floats) {
  const std::int64_t page = sysconf(_SC_PAGESIZE);
  const auto begin = reinterpret_cast<std::uintptr_t>(floats.data()) / at(page) * at(page);
  const auto end = reinterpret_cast<std::uintptr_t>(floats.data() + floats.size());
  std::vector<unsigned char> pages((end - begin + at(page) - 1) / at(page));
  REQUIRE(mincore(reinterpret_cast<void*>(begin), end - begin, pages.data()) == 0);
  return std::ranges::count_if(pages, [](unsigned char one) { return (one & 1) != 0; }) * page /
         static_cast<std::int64_t>(sizeof(float));
}

std::span<float> part_of(std::span<float> floats, const Range& range) {
  return floats.subspan(at(range.first), at(range.count()));
}

struct Sharded {
  Sharded(Sharding sharding, int threads, int virtual_workers)
      : mesh(test_world(), {.data = test_world().size()}),
        pool(threads, true),
        window(mesh, pool, borders(),
               {.bucket_floats = kLayer,
                .oversubscribed = true,
                .virtual_workers = virtual_workers,
                .sharding = sharding}),
        reducer(make_gradient_reducer(mesh, pool, window)) {}

  std::int64_t shard() const {
    std::int64_t floats = 0;
    for (const Range& range : window.shard()) floats += range.count();
    return floats;
  }
  /// At most two pages at each end of a shard's range are in memory besides it.
  std::int64_t at_rest() const { return shard() + std::int64_t{4} * 1024 * std::ssize(window.shard()); }

  Mesh mesh;
  ThreadPool pool;
  ParameterWindow window;
  std::unique_ptr<GradientReducer> reducer;
};

}  // namespace

TEST_CASE("memory that is committed is zero, and what is released gives its pages back", "[parallel]") {
  const auto memory = reserved_memory(1 << 20);
  const std::span<float> floats(reinterpret_cast<float*>(memory->bytes().data()), (1 << 20) / sizeof(float));
  CHECK(resident(floats) == 0);
  for (int round = 0; round < 2; ++round) {
    commit_pages(floats.subspan(1000, 10000), MemoryKind::gradients);
    CHECK(std::ranges::all_of(floats.subspan(1024, 9000), [](float value) { return value == 0; }));
    std::ranges::fill(floats.subspan(1000, 10000), 1.f);
    // The pages at both ends have other floats, too.
    release_pages(floats.subspan(1000, 10000));
    CHECK(resident(floats) <= 2 * 1024);
    CHECK(floats[1000] == 1);
  }
}

TEST_CASE("sharded gradients have memory for two layers while backward runs, and for the shard behind it",
          "[parallel][2+ ranks]") {
  const int threads = GENERATE(1, 2), virtual_workers = GENERATE(0, 8);
  Sharded sharded(Sharding::gradients, threads, virtual_workers);
  ParameterWindow& window = sharded.window;
  for (int step = 0; step < 3; ++step) {
    sharded.reducer->begin();
    sharded.pool.run([&](int worker) {
      for (int layer = kLayers; layer-- > 0;) {
        const Range range = range_of(layer);
        for (int index = 0; index < window.gradient_count(); ++index)
          if (index % threads == worker) {
            commit_pages(part_of(window.gradients(index), range), MemoryKind::gradients);
            std::ranges::fill(part_of(window.gradients(index), range), static_cast<float>(layer + step));
          }
        sharded.reducer->ready(worker, range.first);
        if (threads > 1 || layer == 0) continue;
        // The layer before is perhaps on its way.
        for (const std::span<float> gradients : window.all_gradients())
          CHECK(resident(gradients) <= sharded.at_rest() + 2 * kLayer + 4 * 1024);
      }
    });
    sharded.reducer->finish();
    for (const std::span<float> gradients : window.all_gradients())
      CHECK(resident(gradients) <= sharded.at_rest());
    std::int64_t gradients = window.gradient_count();
    test_world().sum(std::span(&gradients, 1));
    for (const Range& range : window.shard())
      for (std::int64_t i = range.first; i < range.last; ++i)
        if (const std::int64_t layer = i / kLayer;
            window.sums({i, i + 1})[0] != static_cast<float>(gradients * (layer + step))) {
          FAIL_CHECK("sum " << i);
          break;
        }
    sharded.reducer->publish();
  }
}

TEST_CASE("sharded parameters are whole between acquire and release, and have memory for two layers besides",
          "[parallel][2+ ranks]") {
  const int threads = GENERATE(1, 2);
  Sharded sharded(Sharding::parameters, threads, 0);
  ParameterWindow& window = sharded.window;
  for (int step = 1; step <= 3; ++step) {
    for (const Range& range : window.shard())
      for (std::int64_t i = range.first; i < range.last; ++i) {
        const std::int64_t layer = i / kLayer;
        part_of(window.values(), {i, i + 1})[0] = static_cast<float>(step * 1000 + layer);
      }
    sharded.reducer->publish();
    std::vector<int> wrong(at(threads));
    const auto use = [&](int worker, const std::vector<int>& layers) {
      std::vector<Range> ranges;
      ranges.reserve(layers.size());
      for (const int layer : layers) ranges.push_back(range_of(layer));
      sharded.reducer->acquire(worker, ranges);
      for (const int layer : layers)
        for (const float value : part_of(window.values(), range_of(layer)))
          if (value != static_cast<float>(step * 1000 + layer)) ++wrong[at(worker)];
      sharded.reducer->release(worker, ranges);
    };
    sharded.reducer->begin();
    std::int64_t most = 0;
    sharded.pool.run([&](int worker) {
      for (int layer = 0; layer + 1 < kLayers; ++layer) {
        use(worker, {layer});
        if (threads == 1) most = std::max(most, resident(window.values()));
      }
      use(worker, {kLayers - 1, 0});  // a shared weight
      use(worker, {kLayers - 1, 0});
      for (int layer = kLayers - 1; layer-- > 0;) use(worker, {layer});
      sharded.reducer->ready(worker, 0);
    });
    sharded.reducer->finish();
    CHECK(std::ranges::count(wrong, 0) == threads);
    CHECK(most <= sharded.at_rest() + 2 * kLayer + 4 * 1024);
    CHECK(resident(window.values()) <= sharded.at_rest());
  }
}

TEST_CASE("without other data ranks nothing is sharded", "[parallel][1 rank]") {
  Sharded sharded(Sharding::parameters, 1, 0);
  CHECK_FALSE(sharded.window.shards_gradients());
  CHECK_FALSE(sharded.window.shards_parameters());
  std::ranges::fill(sharded.window.values(), 1.f);
}

}  // namespace trainer
