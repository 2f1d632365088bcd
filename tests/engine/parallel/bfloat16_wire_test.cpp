#include "engine/parallel/bfloat16_wire.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <numeric>

#include "engine/core/random.h"
#include "engine/parallel/gradient_reducer.h"
#include "tests/support/mpi_main.h"

namespace trainer {
namespace {

constexpr std::int64_t kTotal = 5003;

std::vector<float> gradient(int rank, int worker = 0) {
  std::vector<float> values(kTotal);
  RandomStream(static_cast<std::uint64_t>(rank), "gradient", static_cast<std::uint64_t>(worker))
      .fill_uniform(0, values);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = (values[i] - 0.5f) * static_cast<float>(1 + i % 13 * 50);
  return values;
}

/// Uneven counts, whose sum is kTotal; some ranks have none.
std::vector<std::int64_t> uneven_counts(int ranks) {
  std::vector<std::int64_t> counts(static_cast<std::size_t>(ranks));
  for (std::size_t rank = 0; rank + 1 < counts.size(); ++rank)
    counts[rank] = rank % 3 == 1 ? 0 : 100 * static_cast<std::int64_t>(rank) + 17;
  counts.back() += kTotal - std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  return counts;
}

}  // namespace

TEST_CASE("a reduce-scatter as bfloat16 adds the rounded values of all ranks in their order", "[parallel]") {
  Communicator& world = test_world();
  Bfloat16Wire wire(world);
  const auto counts = uneven_counts(world.size());
  const std::int64_t first = std::accumulate(counts.begin(), counts.begin() + world.rank(), std::int64_t{0});
  for (int repetition = 0; repetition < 3; ++repetition) {
    std::vector<float> values = gradient(world.rank());
    const auto request = wire.start_reduce_scatter(values, counts);
    if (repetition > 0)
      request->wait();
    else
      while (!request->test()) {
      }
    for (std::int64_t i = first; i < first + counts[static_cast<std::size_t>(world.rank())]; ++i) {
      float sum = 0;
      for (int rank = 0; rank < world.size(); ++rank)
        sum += rounded_to_bfloat16(gradient(rank)[static_cast<std::size_t>(i)]);
      REQUIRE(values[static_cast<std::size_t>(i)] == sum);
    }
  }
}

TEST_CASE("gathered changes leave the same values on all ranks", "[parallel]") {
  Communicator& world = test_world();
  Bfloat16Wire wire(world);
  const auto counts = uneven_counts(world.size());
  const auto first = static_cast<std::size_t>(
      std::accumulate(counts.begin(), counts.begin() + world.rank(), std::int64_t{0}));
  const auto count = static_cast<std::size_t>(counts[static_cast<std::size_t>(world.rank())]);
  std::vector<float> values = gradient(100), changes = gradient(101), expected = values;
  round_to_bfloat16(changes);
  for (std::size_t i = 0; i < values.size(); ++i) expected[i] += changes[i];
  std::ranges::copy(std::span(expected).subspan(first, count),
                    values.begin() + static_cast<std::ptrdiff_t>(first));
  wire.start_all_gather_changes(std::span(changes).subspan(first, count), values, counts)->wait();
  CHECK(values == expected);
}

TEST_CASE("sums with bf16 differ from the exact ones by the rounding of each host's sum, on any ranks",
          "[parallel]") {
  Communicator& world = test_world();
  for (const int ranks_per_node : {0, 1, 2, 3})
    for (const int threads : {1, 2})
      for (const std::int64_t bucket_floats : {1, 1000, 1 << 20}) {
        CAPTURE(ranks_per_node, threads, bucket_floats);
        Mesh mesh(world, {.data = world.size(), .ranks_per_node = ranks_per_node});
        ThreadPool pool(threads, true);
        ParameterWindow window(mesh, pool, {0, 3, 1500, kTotal},
                               {.bucket_floats = bucket_floats,
                                .oversubscribed = true,
                                .compression = {Compression::Method::bf16}});
        const auto reducer = make_gradient_reducer(mesh, pool, window);
        reducer->begin();
        pool.run([&](int worker) {
          std::ranges::copy(gradient(world.rank(), worker), window.gradients(worker).begin());
          reducer->ready(worker, 0);
        });
        reducer->finish();
        const int per_node = ranks_per_node == 0 ? world.size() : ranks_per_node;
        std::vector<double> sums(kTotal), bounds(kTotal);
        for (int node = 0; node * per_node < world.size(); ++node) {
          std::vector<double> of_node(kTotal);
          for (int rank = node * per_node; rank < std::min(world.size(), (node + 1) * per_node); ++rank)
            for (int worker = 0; worker < threads; ++worker) {
              const std::vector<float> values = gradient(rank, worker);
              for (std::size_t i = 0; i < values.size(); ++i) of_node[i] += values[i];
            }
          for (std::size_t i = 0; i < sums.size(); ++i) {
            sums[i] += of_node[i];
            bounds[i] += kBfloat16Error * std::abs(of_node[i]);
          }
        }
        double error = 0;
        for (const Range& range : window.shard())
          for (std::int64_t i = range.first; i < range.last; ++i) {
            const auto at = static_cast<std::size_t>(i);
            const double difference = std::abs(window.sums({i, i + 1})[0] - sums[at]);
            constexpr double kFloatError = 2e-3;  // of sums of up to 8 values below 650
            REQUIRE(difference <= bounds[at] + kFloatError);
            error = std::max(error, difference);
          }
        world.maximum({&error, 1});
        CHECK(error > 0.01);  // it is rounded
        reducer->publish();
      }
}

}  // namespace trainer
