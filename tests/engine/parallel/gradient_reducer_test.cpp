#include "engine/parallel/gradient_reducer.h"

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <numeric>
#include <thread>

#include "engine/core/random.h"
#include "engine/core/sum_tree.h"
#include "engine/core/virtual_workers.h"
#include "engine/parallel/all_reduce.h"
#include "tests/support/mpi_main.h"

namespace trainer {
namespace {

/// A parameter larger than a bucket, tiny ones, an empty one, odd sizes.
const std::vector<std::int64_t> kBorders{0, 3, 20, 20, 1500, 1501, 1700, 5003};
constexpr std::int64_t kTotal = 5003;

/// Whole numbers, so that the sum does not depend on the order; every third worker has no samples.
float gradient(int step, int worker, std::int64_t index) {
  return worker % 3 == 2 ? 0.f : static_cast<float>((index * 31 + worker * 17 + step * 5) % 257);
}

/// A reducer with its memory, and the all-reduce of scalars beside it.
struct Reduction {
  Reduction(Mesh& mesh, ThreadPool& pool, const std::vector<std::int64_t>& borders,
            const ParameterWindow::Options& options)
      : window(mesh, pool, borders, options),
        reducer(make_gradient_reducer(mesh, pool, window)),
        scalars(mesh, window) {}

  ParameterWindow window;
  std::unique_ptr<GradientReducer> reducer;
  AllReduce scalars;
};

/// A step of a training that adds the summed gradients to the parameters. `delay` is called before each
/// ready().
template <class Delay>
void step(Reduction& reduction, Mesh& mesh, ThreadPool& pool, int number, const Delay& delay) {
  reduction.reducer->begin();
  pool.run([&](int worker) {
    const std::span<float> gradients = reduction.window.gradients(worker);
    for (std::size_t parameter = kBorders.size() - 1; parameter > 0; --parameter) {
      delay(worker);
      for (std::int64_t i = kBorders[parameter - 1]; i < kBorders[parameter]; ++i)
        gradients[static_cast<std::size_t>(i)] =
            gradient(number, mesh.data().rank() * pool.size() + worker, i);
      reduction.reducer->ready(worker, kBorders[parameter - 1]);
    }
  });
  reduction.reducer->finish();
  std::vector<double> scalars{static_cast<double>(mesh.data().rank() + number), 1.0};
  reduction.scalars.sum(scalars);
  const int ranks = mesh.data().size();
  const int sum = ranks * number + ranks * (ranks - 1) / 2;
  CHECK(scalars[0] == sum);
  CHECK(scalars[1] == ranks);
  for (const auto& piece : reduction.window.shard()) {
    const std::span<const float> sums = reduction.window.sums(piece);
    REQUIRE(std::ssize(sums) == piece.last - piece.first);
    std::ranges::transform(
        sums, reduction.window.values().subspan(static_cast<std::size_t>(piece.first), sums.size()),
        reduction.window.values().begin() + piece.first, std::plus<>());
    reduction.reducer->updated(piece.last);
  }
  reduction.reducer->start_publish_update();
  reduction.reducer->receive();
}

std::vector<float> expected_values(int workers, int steps) {
  std::vector<float> values(kTotal, 1.f);
  for (std::int64_t i = 0; i < kTotal; ++i)
    for (int number = 0; number < steps; ++number)
      for (int worker = 0; worker < workers; ++worker)
        values[static_cast<std::size_t>(i)] += gradient(number, worker, i);
  return values;
}

/// What each worker reads of the parameters while they arrive, layer by layer, as forward does.
std::vector<std::vector<float>> read_as_they_arrive(Reduction& reduction, ThreadPool& pool) {
  std::vector<std::vector<float>> read(static_cast<std::size_t>(pool.size()), std::vector<float>(kTotal));
  reduction.reducer->start_publish();
  pool.run([&](int worker) {
    for (std::size_t parameter = 1; parameter < kBorders.size(); ++parameter) {
      const std::int64_t first = kBorders[parameter - 1];
      const Range range{first, kBorders[parameter]};
      reduction.reducer->acquire(worker, {&range, 1});
      std::ranges::copy(
          reduction.window.values().subspan(static_cast<std::size_t>(first),
                                            static_cast<std::size_t>(kBorders[parameter] - first)),
          read[static_cast<std::size_t>(worker)].begin() + first);
      reduction.reducer->release(worker, {&range, 1});
    }
  });
  reduction.reducer->receive();
  return read;
}

void check_training(Mesh& mesh, int threads, const ParameterWindow::Options& options, int steps) {
  CAPTURE(mesh.nodes(), threads, options.bucket_floats, options.cut_floats, options.share);
  ThreadPool pool(threads, true);
  Reduction reduction(mesh, pool, kBorders, options);
  std::ranges::fill(reduction.window.values(), 1.f);
  reduction.reducer->publish();
  for (int number = 0; number < steps; ++number) step(reduction, mesh, pool, number, [](int) {});
  const std::vector<GradientReducer::Exchange> exchanges = reduction.reducer->exchanges();
  const ShardPlan& plan = reduction.window.plan();
  CHECK(exchanges.empty() == (!plan.several_nodes() || plan.nodes() == 0));
  CHECK(std::ranges::all_of(exchanges, [](const auto& one) { return one.begin < one.end; }));
  CHECK(std::ranges::equal(reduction.window.values(), expected_values(mesh.data().size() * threads, steps)));
}

}  // namespace

TEST_CASE("parameters grow by the plain sum of all gradients, whatever the buckets, threads and nodes",
          "[parallel]") {
  Communicator& world = test_world();
  for (const int ranks_per_node : {0, 1, 2, 3}) {
    Mesh mesh(world, {.data = world.size(), .ranks_per_node = ranks_per_node});
    for (const int threads : {1, 2})
      for (const std::int64_t bucket_floats : {1, 1000, 1 << 20})
        for (const std::int64_t cut_floats : {300, 1 << 20})
          check_training(mesh, threads,
                         {.bucket_floats = bucket_floats, .cut_floats = cut_floats, .oversubscribed = true},
                         3);
  }
}

TEST_CASE("a worker that waits for a parameter reads what its owner published", "[parallel]") {
  Communicator& world = test_world();
  for (const int ranks_per_node : {0, 1, 2})
    for (const int threads : {1, 2})
      for (const std::int64_t bucket_floats : {1, 1000, 1 << 20}) {
        CAPTURE(ranks_per_node, threads, bucket_floats);
        Mesh mesh(world, {.data = world.size(), .ranks_per_node = ranks_per_node});
        ThreadPool pool(threads, true);
        Reduction reduction(mesh, pool, kBorders, {.bucket_floats = bucket_floats, .oversubscribed = true});
        std::ranges::fill(reduction.window.values(), -1.f);
        reduction.reducer->publish();
        for (int round = 1; round <= 3; ++round) {
          reduction.scalars.barrier();  // no rank reads the values any more
          for (const Range& range : reduction.window.shard())
            for (std::int64_t i = range.first; i < range.last; ++i)
              reduction.window.values()[static_cast<std::size_t>(i)] = static_cast<float>(round * 10000 + i);
          std::vector<float> expected(kTotal);
          std::iota(expected.begin(), expected.end(), static_cast<float>(round * 10000));
          for (const std::vector<float>& read : read_as_they_arrive(reduction, pool)) CHECK(read == expected);
        }
      }
}

TEST_CASE("private buffers give the same sums as the shared window", "[parallel]") {
  Communicator& world = test_world();
  Mesh mesh(world, {.data = world.size()});
  for (const int threads : {1, 2})
    check_training(mesh, threads, {.bucket_floats = 1000, .share = false, .oversubscribed = true}, 3);
}

TEST_CASE("each float is updated by exactly one rank", "[parallel]") {
  Communicator& world = test_world();
  ThreadPool pool(1);
  for (const int ranks_per_node : {0, 1, 2, 3}) {
    Mesh mesh(world, {.data = world.size(), .ranks_per_node = ranks_per_node});
    for (const std::int64_t bucket_floats : {1, 700, 1 << 20}) {
      CAPTURE(ranks_per_node, bucket_floats);
      const Reduction reduction(mesh, pool, kBorders,
                                {.bucket_floats = bucket_floats, .oversubscribed = true});
      std::vector<std::int64_t> owners(kTotal);
      std::int64_t last = 0;
      for (const auto& piece : reduction.window.shard()) {
        CHECK(piece.first >= last);
        last = piece.last;
        for (std::int64_t i = piece.first; i < piece.last; ++i) ++owners[static_cast<std::size_t>(i)];
      }
      world.sum(owners);
      CHECK(std::ranges::count(owners, 1) == kTotal);
    }
  }
}

TEST_CASE("each column of the mesh sums its own gradients", "[parallel][even ranks]") {
  Communicator& world = test_world();
  Mesh mesh(world, {.data = world.size() / 2, .model = 2});
  ThreadPool pool(1);
  Reduction reduction(mesh, pool, {0, 40}, {.oversubscribed = true});
  reduction.reducer->begin();
  std::ranges::fill(reduction.window.gradients(0), static_cast<float>(1 + mesh.model().rank()));
  reduction.reducer->ready(0, 0);
  reduction.reducer->finish();
  reduction.scalars.barrier();
  for (const auto& piece : reduction.window.shard())
    for (const float sum : reduction.window.sums(piece))
      CHECK(sum == static_cast<float>(mesh.data().size() * (1 + mesh.model().rank())));
  reduction.reducer->publish();
}

TEST_CASE("scalars are added in rank order, however many there are", "[parallel]") {
  Communicator& world = test_world();
  const int ranks_per_node = GENERATE(0, 1, 2);
  Mesh mesh(world, {.data = world.size(), .ranks_per_node = ranks_per_node});
  ThreadPool pool(1);
  Reduction reduction(mesh, pool, {0, 1}, {.oversubscribed = true});
  const auto scalar = [](int rank, std::size_t i) {
    return 1.0 / static_cast<double>(3 * i + 7) + rank * 0.1;
  };
  for (const std::size_t count : {0U, 1U, 256U, 1000U}) {
    std::vector<double> scalars(count), expected(count);
    for (std::size_t i = 0; i < count; ++i) {
      scalars[i] = scalar(world.rank(), i);
      expected[i] = scalar(0, i);
      for (int rank = 1; rank < world.size(); ++rank) expected[i] += scalar(rank, i);
    }
    reduction.scalars.sum(scalars);
    CHECK(scalars == expected);
  }
}

TEST_CASE("of some scalars the all-reduce takes the largest, also where they lie beyond the first table",
          "[parallel]") {
  Communicator& world = test_world();
  const int ranks_per_node = GENERATE(0, 1, 2);
  Mesh mesh(world, {.data = world.size(), .ranks_per_node = ranks_per_node});
  ThreadPool pool(1);
  Reduction reduction(mesh, pool, {0, 1}, {.oversubscribed = true});
  for (const std::size_t count : {3U, 257U, 600U}) {
    constexpr std::size_t kMaxima = 2;
    std::vector<double> scalars(count, 1.0);
    scalars[count - 2] = world.rank() == 0 ? 5 : 2;
    scalars[count - 1] = world.rank() + 1;
    reduction.scalars.sum(scalars, kMaxima);
    CHECK(std::ranges::count(std::span(scalars).first(count - kMaxima), world.size()) ==
          static_cast<std::ptrdiff_t>(count - kMaxima));
    CHECK(scalars[count - 2] == 5);
    CHECK(scalars[count - 1] == world.size());
  }
}

TEST_CASE("no rank returns from an all-reduce before all have called it", "[parallel]") {
  Communicator& world = test_world();
  const auto host = world.shared(64);
  auto& calls = *reinterpret_cast<std::int64_t*>(host->bytes().data());
  for (const int ranks_per_node : {0, 1, 2}) {
    Mesh mesh(world, {.data = world.size(), .ranks_per_node = ranks_per_node});
    ThreadPool pool(1);
    Reduction reduction(mesh, pool, {0, 1000}, {.oversubscribed = true});
    const std::int64_t before = std::atomic_ref(calls);
    world.barrier();
    for (int round = 0; round < 10; ++round) {
      // The last of this round is another rank each time.
      if (round % world.size() == world.rank()) std::this_thread::sleep_for(std::chrono::milliseconds(2));
      ++std::atomic_ref(calls);
      reduction.scalars.barrier();
      CHECK(std::atomic_ref(calls) >= before + (round + 1) * world.size());
    }
    world.barrier();
  }
}

TEST_CASE("sums survive 200 steps in which every worker dawdles at random", "[parallel]") {
  Communicator& world = test_world();
  const int threads = GENERATE(2, 1);
  const int ranks_per_node = threads == 2 ? 0 : 2;  // one window, and windows joined by MPI
  CAPTURE(threads, ranks_per_node);
  Mesh mesh(world, {.data = world.size(), .ranks_per_node = ranks_per_node});
  ThreadPool pool(threads, true);
  Reduction reduction(mesh, pool, kBorders, {.bucket_floats = 500, .oversubscribed = true});
  std::ranges::fill(reduction.window.values(), 1.f);
  reduction.reducer->publish();
  std::vector<std::uint64_t> draws(static_cast<std::size_t>(threads));
  const RandomStream random(5, "dawdle", static_cast<std::uint64_t>(world.rank()));
  for (int number = 0; number < 200; ++number)
    step(reduction, mesh, pool, number, [&](int worker) {
      const auto draw = static_cast<std::uint64_t>(worker) << 40 | draws[static_cast<std::size_t>(worker)]++;
      if (random.below(draw, 8) == 0)
        std::this_thread::sleep_for(std::chrono::microseconds(random.below(draw + 1, 300)));
    });
  CHECK(std::ranges::equal(reduction.window.values(), expected_values(world.size() * threads, 200)));
}

namespace {

/// A gradient whose sums over virtual workers round differently in every order.
float rough_gradient(int virtual_worker, std::int64_t index) {
  return RandomStream(9, "rough", static_cast<std::uint64_t>(virtual_worker))
             .uniform(static_cast<std::uint64_t>(index)) *
         static_cast<float>(1 + (virtual_worker * 7 + index) % 11 * 100);
}

/// The sum over all virtual workers on one rank of one thread, and on these ranks.
std::vector<float> exact_sums(Mesh& mesh, int threads, int count, const ParameterWindow::Options& options) {
  ThreadPool pool(threads, true);
  Reduction reduction(mesh, pool, kBorders, options);
  const VirtualWorkers virtual_workers{
      .count = count, .ranks = mesh.data().size(), .threads = threads, .exact = true};
  const int rank = mesh.data().rank();
  std::vector<SumTree> trees;
  std::vector<int> first_gradients{0};
  for (int worker = 0; worker < threads; ++worker) {
    trees.push_back(SumTree::of_leaves(count, virtual_workers.of_worker(rank, worker)));
    if (options.compression.is_bf16()) trees.back().round_summands();
    first_gradients.push_back(first_gradients.back() + static_cast<int>(trees.back().roots().size()));
  }
  REQUIRE(reduction.window.gradient_count() == first_gradients.back());
  reduction.reducer->begin();
  pool.run([&](int worker) {
    const auto me = static_cast<std::size_t>(worker);
    const Range mine = virtual_workers.of_worker(rank, worker);
    std::vector<std::vector<float>> rough(static_cast<std::size_t>(mine.count()), std::vector<float>(kTotal));
    std::vector<const float*> inputs;
    inputs.reserve(rough.size());
    for (const std::vector<float>& gradient : rough) inputs.push_back(gradient.data());
    std::vector<float*> roots;
    for (int index = first_gradients[me]; index < first_gradients[me + 1]; ++index)
      roots.push_back(reduction.window.gradients(index).data());
    for (std::size_t parameter = kBorders.size() - 1; parameter > 0; --parameter) {
      for (std::int64_t leaf = 0; leaf < mine.count(); ++leaf)
        for (std::int64_t i = kBorders[parameter - 1]; i < kBorders[parameter]; ++i)
          rough[static_cast<std::size_t>(leaf)][static_cast<std::size_t>(i)] =
              rough_gradient(static_cast<int>(mine.first + leaf), i);
      trees[me].sum(inputs, roots, kBorders[parameter - 1], kBorders[parameter]);
      reduction.reducer->ready(worker, kBorders[parameter - 1]);
    }
  });
  reduction.reducer->finish();
  reduction.scalars.barrier();
  for (const auto& piece : reduction.window.shard())
    std::ranges::copy(reduction.window.sums(piece), reduction.window.values().begin() + piece.first);
  reduction.reducer->publish();
  return {reduction.window.values().begin(), reduction.window.values().end()};
}

}  // namespace

TEST_CASE("in exact mode gradients have the same bits on any ranks, threads and nodes", "[parallel]") {
  Communicator& world = test_world();
  const auto alone = solo();
  Mesh lone(*alone, {});
  const Compression compression{GENERATE(Compression::Method::none, Compression::Method::bf16)};
  CAPTURE(compression.value_bytes());
  for (const int count : {8, 7}) {
    const std::vector<float> expected =
        exact_sums(lone, 1, count, {.virtual_workers = count, .compression = compression});
    if (compression.is_bf16()) CHECK(expected != exact_sums(lone, 1, count, {.virtual_workers = count}));
    for (const int ranks_per_node : {0, 1, 2, 3}) {
      Mesh mesh(world, {.data = world.size(), .ranks_per_node = ranks_per_node});
      for (const int threads : {1, 2, 4})
        for (const std::int64_t bucket_floats : {1, 1000, 1 << 20})
          for (const bool share : {true, false}) {
            CAPTURE(count, ranks_per_node, threads, bucket_floats, share);
            CHECK(exact_sums(mesh, threads, count,
                             {.bucket_floats = bucket_floats,
                              .share = share,
                              .oversubscribed = true,
                              .virtual_workers = count,
                              .compression = compression}) == expected);
          }
    }
  }
}

TEST_CASE("a rank's first gradient is as computed unless the reducer reports it as overwritten",
          "[parallel]") {
  Communicator& world = test_world();
  for (const int ranks_per_node : {0, 1, 2, 3}) {
    Mesh mesh(world, {.data = world.size(), .ranks_per_node = ranks_per_node});
    for (const int threads : {1, 2})
      for (const int virtual_workers : {0, 8}) {
        CAPTURE(ranks_per_node, threads, virtual_workers);
        ThreadPool pool(threads, true);
        Reduction reduction(
            mesh, pool, kBorders,
            {.bucket_floats = 700, .oversubscribed = true, .virtual_workers = virtual_workers});
        const auto mine = static_cast<float>(1 << world.rank());
        for (int index = 0; index < reduction.window.gradient_count(); ++index)
          std::ranges::fill(reduction.window.gradients(index), mine);
        reduction.reducer->begin();
        pool.run([&](int worker) { reduction.reducer->ready(worker, 0); });
        reduction.reducer->finish();
        reduction.scalars.barrier();
        std::vector<std::int64_t> overwriters(kTotal);
        for (const auto& place : reduction.reducer->overwritten())
          for (std::int64_t i = place.first; i < place.last; ++i) ++overwriters[static_cast<std::size_t>(i)];
        for (std::size_t i = 0; i < overwriters.size(); ++i)
          if (overwriters[i] == 0) REQUIRE(reduction.window.gradients(0)[i] == mine);
        world.sum(overwriters);
        // Between nodes MPI may leave anything where others' sums are.
        const bool is_alone = world.size() == 1 && threads == 1;
        if (virtual_workers > 0 || ranks_per_node == 0)
          CHECK(std::ranges::count(overwriters, is_alone ? 0 : 1) == kTotal);
        reduction.reducer->publish();
      }
  }
}

TEST_CASE("sums round as if workers were added by twos, by rank and thread", "[parallel]") {
  Communicator& world = test_world();
  Mesh mesh(world, {.data = world.size()});
  ThreadPool pool(2, true);
  Reduction reduction(mesh, pool, {0, 200'000}, {.oversubscribed = true});
  reduction.reducer->begin();
  // 1 + 2^-24 is 1, but 1 + 2^-23 is not: the sum shows which were added first.
  pool.run([&](int worker) {
    std::ranges::fill(reduction.window.gradients(worker), world.rank() + worker == 0 ? 1.f : 0x1p-24f);
    reduction.reducer->ready(worker, 0);
  });
  reduction.reducer->finish();
  std::vector<float> sums(static_cast<std::size_t>(2 * world.size()), 0x1p-24f);
  sums[0] = 1;
  while (sums.size() > 1) {
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i / 2] = i % 2 == 0 ? sums[i] : sums[i / 2] + sums[i];
    sums.resize((sums.size() + 1) / 2);
  }
  for (const auto& piece : reduction.window.shard())
    CHECK(std::ranges::count(reduction.window.sums(piece), sums[0]) == piece.last - piece.first);
  reduction.scalars.barrier();
  reduction.reducer->publish();
}

}  // namespace trainer
