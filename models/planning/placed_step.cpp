#include "models/planning/placed_step.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/core/sum_tree.h"

namespace trainer {
namespace {

using Between = Collective::Between;
constexpr std::int64_t kFloat = sizeof(float), kDouble = sizeof(double);

/// Bytes of the values of a bucket between hosts.
std::int64_t wire_bytes(const PlacedStep& step, const Range& bucket) {
  return bucket.count() * step.compression.value_bytes();
}

/// Exact mode sends a value for each root of the node's tree, else one.
std::int64_t values_of_node(const PlacedStep& step) {
  if (!step.workers.exact) return 1;
  const int last = step.ranks.mesh().node().size() - 1;
  const Range mine{step.workers.of_rank(0).first, step.workers.of_rank(last).last};
  return std::ssize(SumTree::of_leaves(step.workers.count, mine).roots());
}

/// The same for statistics, of which exact mode collects those of all virtual workers.
std::int64_t statistics_of_node(const PlacedStep& step) {
  return step.workers.exact ? step.workers.count : 1;
}

/// Bytes that leave each of `members` when they exchange parts of a buffer.
std::int64_t sent_of(std::int64_t bytes, int members) { return bytes - bytes / members; }

/// How a model group exchanges: the link, and how many ranks of a host use it at a time.
struct ModelLink {
  LinkCost cost;
  int members = 1;

  ModelLink(const PlacedStep& step, const LinkCost& between_hosts)
      : cost(kWithinHost), members(step.ranks.mesh().model().size()) {
    if (step.ranks.nodes_of_model() < 2) return;
    cost = between_hosts;
    cost.bandwidth /= step.ranks.ranks_per_node();
  }
};

/// Workers exchange in turn.
double exchange_time(const PlacedStep& step, const ModelLink& link, std::int64_t gathered,
                     std::int64_t summed) {
  const double threads = step.workers.threads, rows = static_cast<double>(step.rows) / threads;
  const auto bytes = [&](std::int64_t floats) { return rows * static_cast<double>(kFloat * floats); };
  return threads * (link.cost.exchange(bytes(gathered), link.members).complete +
                    link.cost.all_reduce(bytes(summed), link.members));
}

double statistics_time(const PlacedStep& step, const LinkCost& cost,
                       const std::vector<std::int64_t>& doubles) {
  double sum = 0;
  for (const std::int64_t count : doubles)
    sum += cost.all_reduce(static_cast<double>(count * kDouble * statistics_of_node(step)),
                           step.ranks.mesh().nodes());
  return sum;
}

/// Collects the schedule.
class Schedule {
 public:
  explicit Schedule(const PlacedStep& step) : step_(step), hosts_(step.ranks.mesh().nodes()) {}

  std::vector<Collective> take() {
    for (const LayerCost& layer : step_.layers)
      add_layer(layer, "forward", layer.forward_statistics, layer.traffic.gathered_forward,
                layer.traffic.summed_forward);
    for (auto layer = step_.layers.rbegin(); layer != step_.layers.rend(); ++layer)
      add_layer(*layer, "backward", layer->backward_statistics, layer->traffic.gathered_backward,
                layer->traffic.summed_backward);
    add_gradients();
    if (step_.ranks.mesh().data().size() > 1)
      add("all-reduce of loss, metrics and signals", "after backward", hosts_,
          step_.ranks.mesh().data().size() * step_.scalars * kDouble, 1, 2);
    const std::span<const Range> buckets = step_.shards.buckets();
    for (int bucket = static_cast<int>(buckets.size());
         hosts_ > 1 && step_.compressed.empty() && bucket-- > 0;)
      add(fmt::format("all-gather of parameters, bucket {}", bucket + 1),
          step_.shards.one_rank_per_node() ? "next forward" : "after the update", hosts_,
          wire_bytes(step_, buckets[static_cast<std::size_t>(bucket)]), 1, 1);
    return std::move(result_);
  }

 private:
  void add(const std::string& what, const std::string& when, int hosts, std::int64_t bytes,
           std::int64_t times, std::int64_t passes) {
    const bool in_memory = hosts < 2;
    result_.push_back({.what = what,
                       .when = when,
                       .between = in_memory ? Between::memory_of_host : Between::hosts,
                       .members = in_memory ? step_.ranks.mesh().node().size() : hosts,
                       .times = times,
                       .bytes = bytes,
                       .sent = in_memory ? 0 : passes * times * sent_of(bytes, hosts)});
  }

  void add_layer(const LayerCost& layer, const char* when, const std::vector<std::int64_t>& statistics,
                 std::int64_t gathered, std::int64_t summed) {
    std::int64_t doubles = 0;
    for (const std::int64_t count : statistics) doubles += count;
    if (doubles > 0 && step_.ranks.mesh().data().size() > 1)
      add("all-reduce of statistics, " + layer.name, when, hosts_,
          doubles * kDouble * statistics_of_node(step_) / std::ssize(statistics),
          step_.micro_batches * std::ssize(statistics), 2);
    add_exchange("all-gather", layer, when, gathered, 1);
    add_exchange("all-reduce", layer, when, summed, 2);
  }

  void add_exchange(const char* kind, const LayerCost& layer, const char* when, std::int64_t floats,
                    std::int64_t passes) {
    if (floats == 0) return;
    const int members = step_.ranks.mesh().model().size();
    const std::int64_t times = std::int64_t{step_.micro_batches} * step_.workers.threads,
                       bytes = floats * kFloat * step_.rows / step_.workers.threads;
    result_.push_back(
        {.what = fmt::format("{} of activations, {}", kind, layer.name),
         .when = when,
         .between = step_.ranks.nodes_of_model() > 1 ? Between::hosts : Between::processes_of_host,
         .members = members,
         .times = times,
         .bytes = bytes,
         .sent = passes * times * sent_of(bytes, members)});
  }

  void add_gradients() {
    const int sharers = step_.compressed.empty() ? step_.ranks.mesh().node().size() : 1;
    const int in_host = sharers * step_.workers.threads;
    if (in_host > 1 && !step_.shards.buckets().empty())
      add("sum of the workers' gradients", "backward", 1,
          in_host * step_.shards.buckets().front().last * kFloat, step_.micro_batches, 0);
    if (!step_.compressed.empty()) return add_compressed();
    for (std::size_t bucket = 0; hosts_ > 1 && bucket < step_.shards.buckets().size(); ++bucket)
      add(fmt::format("reduce-scatter of gradients, bucket {}", bucket + 1), "backward", hosts_,
          wire_bytes(step_, step_.shards.buckets()[bucket]) * values_of_node(step_), step_.micro_batches, 1);
  }

  /// Every rank takes part by itself.
  void add_compressed() {
    const int ranks = step_.ranks.mesh().data().size();
    for (const CompressedMessage& message : step_.compressed)
      if (ranks > 1)
        result_.push_back(
            {.what = message.what,
             .when = "after backward",
             .between = hosts_ > 1 ? Between::hosts : Between::processes_of_host,
             .members = ranks,
             .times = step_.micro_batches,
             .bytes = message.bytes,
             .sent = (message.is_all_reduce ? 2 : 1) * step_.micro_batches * sent_of(message.bytes, ranks)});
  }

  const PlacedStep& step_;
  int hosts_;
  std::vector<Collective> result_;
};

}  // namespace

std::vector<Collective> collectives_of(const PlacedStep& step) { return Schedule(step).take(); }

LinkCost cost_of_shard(const PlacedStep& step, LinkCost cost) {
  const int groups = step.ranks.ranks_per_node() / step.ranks.mesh().node().size();
  cost.bandwidth /= static_cast<double>(groups);
  return cost;
}

StepWork work_of(const PlacedStep& step, const ComputingTimes& times, const LinkCost& cost) {
  double forward = 0, backward = 0;
  for (const LayerCost& layer : step.layers) {
    forward += static_cast<double>(layer.forward);
    backward += static_cast<double>(layer.backward);
  }
  // Where no layer counts operations, all take the same time.
  const auto share = [&](std::int64_t part, double whole) {
    return whole > 0 ? static_cast<double>(part) / whole : 1 / static_cast<double>(step.layers.size());
  };
  const ModelLink link(step, cost);
  StepWork work{.data = times.data,
                .sums = times.sums,
                .update = times.update,
                .buckets = {step.shards.buckets().begin(), step.shards.buckets().end()},
                .gradients = static_cast<int>(values_of_node(step)),
                .value_bytes = static_cast<double>(step.compression.value_bytes()),
                .nodes = step.ranks.mesh().nodes(),
                .micro_batches = step.micro_batches,
                .scalars = static_cast<double>(step.ranks.mesh().data().size() * step.scalars * kDouble),
                .publish_overlaps = step.shards.one_rank_per_node(),
                .compressed = step.compressed};
  if (!work.compressed.empty()) work.buckets.clear();
  for (const LayerCost& layer : step.layers)
    work.layers.push_back({.forward = layer.share * times.forward * share(layer.forward, forward),
                           .backward = layer.share * times.backward * share(layer.backward, backward),
                           .forward_waits = statistics_time(step, cost, layer.forward_statistics) +
                                            exchange_time(step, link, layer.traffic.gathered_forward,
                                                          layer.traffic.summed_forward),
                           .backward_waits = statistics_time(step, cost, layer.backward_statistics) +
                                             exchange_time(step, link, layer.traffic.gathered_backward,
                                                           layer.traffic.summed_backward),
                           .parameters = layer.range});
  return work;
}

}  // namespace trainer
