#include "models/planning/placed_step.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "models/network/partition.h"
#include "models/planning/memory_plan.h"
#include "tests/support/layer_check.h"

namespace trainer {
namespace {

constexpr int kThreads = 1;
constexpr std::int64_t kBatch = 24;

/// A perceptron on a mesh that does not run.
class Placed {
 public:
  explicit Placed(const Mesh::Options& mesh, const std::string& layers = "dense: 64, dense: 32",
                  const Shape& sample = {16})
      : yaml_(layer_list(layers)),
        ranks_(mesh),
        pool_(kThreads),
        group_(pool_, ranks_.mesh().model()),
        workers_(VirtualWorkers::one_for_each_worker(mesh.data, kThreads)),
        split_(VirtualWorkers::one_for_each_worker(mesh.data * mesh.model, kThreads)),
        network_(yaml_.root().items("layers"), sample,
                 {.batch = kBatch,
                  .virtual_workers = workers_,
                  .split_workers = split_,
                  .rewrite =
                      [this](Sequence& sequence) {
                        shard_layers(sequence, group_, RowSplit{workers_, split_});
                      }}),
        parameters_(placed_parameters(network_, ranks_.mesh())),
        layers_(layer_costs(network_)) {}

  PlacedStep step(Sharding sharding = Sharding::state) const {
    return {.ranks = ranks_,
            .parameters = parameters_,
            .layers = layers_,
            .workers = workers_,
            .rows = kBatch / workers_.ranks,
            .sharding = sharding,
            .scalars = 7};
  }
  MemoryPlan memory(Sharding sharding = Sharding::state) const {
    return memory_plan(network_, parameters_,
                       {.ranks_per_host = ranks_.ranks_per_node(),
                        .sharding = sharding,
                        .saved_arrays = 2,
                        .samples = 1000});
  }
  std::int64_t two_buckets() const {
    const std::span<const Range> buckets = parameters_.front().shards.buckets();
    std::int64_t most = 0;
    for (std::size_t i = 1; i < buckets.size(); ++i)
      most = std::max(most, 4 * (buckets[i - 1].count() + buckets[i].count()));
    return most;
  }
  std::int64_t values() const { return network_.plan().parameter_end() * 4; }

 private:
  ConfigTree yaml_;
  PlannedRanks ranks_;
  ThreadPool pool_;
  ModelGroup group_;
  VirtualWorkers workers_, split_;
  Network network_;
  std::vector<PlacedParameters> parameters_;
  std::vector<LayerCost> layers_;
};

std::int64_t sent(const std::vector<Collective>& collectives, const std::string& what) {
  std::int64_t sum = 0;
  for (const Collective& collective : collectives)
    if (collective.what.starts_with(what)) sum += collective.sent;
  return sum;
}

const MemoryPlan::Part& part(const MemoryPlan& plan, const std::string& kind) {
  const auto found = std::ranges::find(plan.parts, kind, &MemoryPlan::Part::kind);
  REQUIRE(found != plan.parts.end());
  return *found;
}

constexpr ComputingTimes kTimes{
    .data = 1e-3, .forward = 3e-3, .backward = 6e-3, .sums = 1e-4, .update = 1e-3};

}  // namespace

TEST_CASE("one rank has no collectives and computes all it was measured to", "[planning]") {
  const Placed placed({});
  CHECK(collectives_of(placed.step()).empty());
  CHECK(predict_step(work_of(placed.step(), kTimes, {}), {}).total() == Approx(11.1e-3));
}

TEST_CASE("on one host gradients are summed in memory, and no host sends a byte", "[planning]") {
  const Placed placed({.data = 4});
  const auto collectives = collectives_of(placed.step());
  REQUIRE(collectives.size() == 2);
  for (const Collective& collective : collectives) {
    CHECK(collective.between == Collective::Between::memory_of_host);
    CHECK(collective.sent == 0);
  }
  CHECK(collectives.front().bytes == 4 * placed.values());
}

TEST_CASE("between hosts all buckets are reduced and gathered, with the least possible bytes", "[planning]") {
  const Placed placed({.data = 4, .ranks_per_node = 1});
  const auto collectives = collectives_of(placed.step());
  CHECK(sent(collectives, "reduce-scatter") == placed.values() * 3 / 4);
  CHECK(sent(collectives, "all-gather of parameters") == placed.values() * 3 / 4);
}

TEST_CASE("bf16 halves the bytes between hosts and the time of the wire", "[planning]") {
  const Placed placed({.data = 4, .ranks_per_node = 1});
  PlacedStep step = placed.step();
  const LinkCost free_messages{.overhead = 0};
  const double wire = predict_step(work_of(step, kTimes, {}), free_messages).wire;
  step.compression.method = Compression::Method::bf16;
  const auto collectives = collectives_of(step);
  CHECK(sent(collectives, "reduce-scatter") == placed.values() * 3 / 8);
  CHECK(sent(collectives, "all-gather of parameters") == placed.values() * 3 / 8);
  CHECK(predict_step(work_of(step, kTimes, {}), free_messages).wire == Approx(wire / 2));
}

TEST_CASE("processes that deviate wait for the slowest of them, equal ones and a single one do not",
          "[planning]") {
  const Placed placed({.data = 4, .ranks_per_node = 1});
  const auto slowest = [&](double deviation, int processes) {
    ComputingTimes times = kTimes;
    times.deviation = deviation;
    times.processes = processes;
    return predict_step(work_of(placed.step(), times, {}), {}).slowest;
  };
  CHECK(slowest(0, 4) == 0);
  CHECK(slowest(0.1, 1) == 0);
  // The messages of a small network hide little of the 11.1 ms.
  CHECK(slowest(0.1, 4) == Approx(0.1 * 1.029 * 11.1e-3).epsilon(0.02));
  CHECK(slowest(0.1, 1024) == Approx(0.1 * 3.249 * 11.1e-3).epsilon(0.02));
}

TEST_CASE("below 2 Gbit/s the wire has the bytes of the lossless code, which bf16 has not", "[planning]") {
  const Placed placed({.data = 4, .ranks_per_node = 1});
  PlacedStep step = placed.step();
  const LinkCost slow{.bandwidth = 0.24e9}, fast{.bandwidth = 0.26e9};
  ComputingTimes times = kTimes;
  times.gradient_code_ratio = 0.5;
  CHECK(work_of(step, times, fast).gradient_bytes == 4);
  CHECK(work_of(step, times, slow).gradient_bytes == 2);
  CHECK(work_of(step, times, fast).parameter_bytes == 4);
  CHECK(work_of(step, times, slow).parameter_bytes == Approx(0.88 * 4));
  step.compression.method = Compression::Method::bf16;
  CHECK(work_of(step, times, slow).gradient_bytes == 2);
  CHECK(work_of(step, times, slow).parameter_bytes == 2);
}

TEST_CASE("ranks that share a host send for each other", "[planning]") {
  const Placed placed({.data = 4, .ranks_per_node = 2});
  CHECK(sent(collectives_of(placed.step()), "reduce-scatter") == placed.values() / 2);
  CHECK_FALSE(work_of(placed.step(), kTimes, {}).publish_overlaps);
}

TEST_CASE("a rank of a model group computes its share of sharded layers and exchanges activations",
          "[planning]") {
  const Placed placed({.model = 2});
  const auto collectives = collectives_of(placed.step());
  REQUIRE(collectives.size() == 1);
  CHECK(collectives[0].between == Collective::Between::processes_of_host);
  CHECK(collectives[0].bytes == kBatch * 32 * 4);
  const StepTime time = predict_step(work_of(placed.step(), kTimes, {}), {});
  CHECK(time.computing == Approx(2.1e-3 + 9e-3 / 2));
  CHECK(time.layers > 0);
}

TEST_CASE("parameters and gradients exist once on a host, the optimizer state once in the run",
          "[planning]") {
  const Placed one({}), placed({.data = 4});
  const MemoryPlan plan = placed.memory();
  CHECK(part(plan, "parameters").sharers == 4);
  CHECK(part(plan, "parameters").on_host == placed.values());
  CHECK(part(plan, "gradients").on_host >= 4 * placed.values());
  CHECK(part(plan, "gradients").on_host < 4 * placed.values() + (1 << 16));
  // A slice ends at a cache line.
  const auto whole = static_cast<double>(part(one.memory(), "optimizer state").on_host);
  CHECK(static_cast<double>(part(plan, "optimizer state").on_host) == Approx(whole).epsilon(0.02));
  CHECK(part(plan, "samples in memory").on_host == 1000);
  CHECK(plan.of_rank() == part(plan, "optimizer state").bytes + part(plan, "activations and scratch").bytes);
}

TEST_CASE("on hosts of one rank each keeps all parameters and room for what others send", "[planning]") {
  const MemoryPlan plan = Placed({.data = 4, .ranks_per_node = 1}).memory();
  CHECK(part(plan, "parameters").sharers == 1);
  CHECK(part(plan, "messages").bytes > 0);
}

TEST_CASE("a model group divides the parameters of sharded layers", "[planning]") {
  const Placed whole({}), half({.model = 2});
  // The bias of the second layer stays whole.
  CHECK(half.values() < whole.values() / 2 + 64 * 4);
  CHECK(part(half.memory(), "parameters").on_host == 2 * half.values());
}

TEST_CASE("layers that split rows are reduced over all hosts, the others in their columns", "[planning]") {
  // Two hosts of two ranks: each host has a model group.
  const Placed placed({.data = 2, .model = 2, .ranks_per_node = 2},
                      "conv: {filters: 8, kernel: 3}, dense: 64", {4, 4, 2});
  const std::int64_t conv = 3 * 3 * 2 * 8 + 16;
  const auto collectives = collectives_of(placed.step());
  CHECK(sent(collectives, "reduce-scatter of gradients") == placed.values() / 2);
  CHECK(sent(collectives, "all-gather of parameters") == placed.values() / 2);
  // Rows of a group are 12, of 2 x 2 x 8 elements.
  CHECK(sent(collectives, "all-gather of activations, exchange1") == 12 * 32 * 4 / 2);
  CHECK(sent(collectives, "reduce-scatter of activations, exchange1") == 12 * 32 * 4 / 2);
  const MemoryPlan plan = placed.memory();
  REQUIRE(plan.parts.size() > 3);
  CHECK(plan.parts[2].kind == "parameters");
  CHECK(plan.parts[2].on_host == conv * 4);
  CHECK(plan.parts[2].sharers == 2);
  // The gradient of 6 rows from the other model rank; from the other host half of the dense layer's, and a
  // quarter of the convolution's, up to a cache line.
  CHECK(part(plan, "messages").bytes == 4 * (6 * 32 + (32 * 32 + 32) / 2 + 48));
  // All that this network computes is divided by two.
  const StepTime time = predict_step(work_of(placed.step(), kTimes, {}), {});
  CHECK(time.computing == Approx(0.5e-3 + 0.1e-3 + 1e-3 + 9e-3 / 2));
}

TEST_CASE(
    "sharded gradients and parameters take the shard and the rest of two buckets, and are gathered twice",
    "[planning]") {
  std::string layers = "dense: 128";
  for (int layer = 1; layer < 20; ++layer) layers += ", dense: 128";
  const Placed placed({.data = 4, .ranks_per_node = 1}, layers, {128});
  const std::int64_t values = placed.values(), two = placed.two_buckets();
  REQUIRE(two < values / 2);
  const MemoryPlan state = placed.memory(), gradients = placed.memory(Sharding::gradients),
                   parameters = placed.memory(Sharding::parameters);
  const double most = 0.25 * static_cast<double>(values) + 0.75 * static_cast<double>(two);
  CHECK(part(state, "parameters").bytes == values);
  CHECK(part(gradients, "parameters").bytes == values);
  CHECK(static_cast<double>(part(parameters, "parameters").bytes) == Approx(most).epsilon(0.01));
  CHECK(part(state, "gradients").bytes >= values);
  for (const MemoryPlan& plan : {gradients, parameters}) {
    CHECK(static_cast<double>(part(plan, "gradients").bytes) == Approx(most).epsilon(0.01));
    CHECK(part(plan, "optimizer state").bytes == part(state, "optimizer state").bytes);
    CHECK(part(plan, "messages").bytes < part(state, "messages").bytes);
  }
  const char* const gathering = "all-gather of parameters";
  const std::int64_t once = sent(collectives_of(placed.step()), gathering);
  CHECK(once > 0);
  CHECK(sent(collectives_of(placed.step(Sharding::gradients)), gathering) == once);
  CHECK(sent(collectives_of(placed.step(Sharding::parameters)), gathering) == 2 * once);
  const LinkCost cost;
  const StepTime plain = predict_step(work_of(placed.step(), kTimes, cost), cost),
                 sharded = predict_step(work_of(placed.step(Sharding::parameters), kTimes, cost), cost);
  CHECK(sharded.wire == Approx(1.5 * plain.wire));
  CHECK(sharded.total() >= plain.total());
}

}  // namespace trainer
