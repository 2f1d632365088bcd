#include "models/planning/placed_step.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/parallel/chunk_codes.h"
#include "engine/parallel/scalar_reducer.h"
#include "models/planning/deviation.h"

namespace trainer {
namespace {

using Between = Collective::Between;
constexpr std::int64_t kValue = sizeof(float), kDouble = sizeof(double);

/// Bytes of the values of a bucket between hosts.
std::int64_t wire_bytes(const PlacedStep& step, const Range& bucket) {
  return bucket.count() * step.compression.value_bytes();
}

/// Whether float32 is encoded between hosts.
bool encodes(const PlacedStep& step, const LinkCost& cost) {
  return step.compression.value_bytes() == kValue && cost_of_shard(step, cost).bandwidth < kFastLink;
}

/// The ranks that hold a layer's parameters.
const Mesh& ranks_of(const PlacedStep& step, const LayerCost& layer) {
  const Mesh& mesh = step.ranks.mesh();
  return layer.splits_rows ? mesh.as_data_ranks() : mesh;
}
/// Values of a node for each statistic: exact mode collects those of all virtual workers.
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

/// Floats of one sample that a layer exchanges in one direction.
struct Exchanged {
  std::int64_t gathered = 0, summed = 0, scattered = 0;
  bool once_a_rank = false;
};
std::vector<Exchanged> forward_of(const LayerCost& layer) {
  std::vector<Exchanged> result;
  for (const ExchangeTraffic& traffic : layer.traffic)
    result.push_back({traffic.gathered_forward, traffic.summed_forward, 0, traffic.once_a_rank});
  return result;
}
std::vector<Exchanged> backward_of(const LayerCost& layer) {
  std::vector<Exchanged> result;
  for (auto traffic = layer.traffic.rbegin(); traffic != layer.traffic.rend(); ++traffic)
    result.push_back({traffic->gathered_backward, traffic->summed_backward, traffic->scattered_backward,
                      traffic->once_a_rank});
  return result;
}

/// Workers exchange in turn.
double exchange_time(const PlacedStep& step, const ModelLink& link, const std::vector<Exchanged>& all) {
  double sum = 0;
  for (const Exchanged& exchanged : all) {
    const double calls = exchanged.once_a_rank ? 1 : step.workers.threads,
                 rows = static_cast<double>(step.rows) / calls;
    const auto bytes = [&](std::int64_t floats) { return rows * static_cast<double>(kValue * floats); };
    sum += calls * (link.cost.exchange(bytes(exchanged.gathered), link.members).complete +
                    link.cost.exchange(bytes(exchanged.scattered), link.members).complete +
                    link.cost.all_reduce(bytes(exchanged.summed), link.members));
  }
  return sum;
}

/// The bytes of each sum of a layer's statistics: long ones are taken in parts.
std::vector<double> sums_of(const PlacedStep& step, const std::vector<std::int64_t>& doubles) {
  std::vector<double> sums;
  for (const std::int64_t count : doubles)
    for (std::int64_t first = 0; first < count; first += ScalarReducer::kSlot)
      sums.push_back(static_cast<double>(std::min(count - first, ScalarReducer::kSlot) * kDouble *
                                         statistics_of_node(step)));
  return sums;
}

/// The collectives of a step, collected in their order.
class StepCollectives {
 public:
  explicit StepCollectives(const PlacedStep& step) : step_(step) {}

  std::vector<Collective> take() {
    for (const LayerCost& layer : step_.layers)
      add_layer(layer, "forward", layer.forward_statistics, forward_of(layer));
    for (auto layer = step_.layers.rbegin(); layer != step_.layers.rend(); ++layer)
      add_layer(*layer, "backward", layer->backward_statistics, backward_of(*layer));
    int number = 0;
    for (const PlacedParameters& part : step_.parameters) add_gradients(part, number);
    add_compressed();
    const Mesh& mesh = step_.ranks.mesh();
    if (mesh.data().size() > 1)
      add("all-reduce of loss, metrics and signals", "after backward", mesh,
          mesh.data().size() * step_.scalars * kDouble, 1, 2);
    for (auto part = step_.parameters.rbegin(); part != step_.parameters.rend(); ++part)
      add_parameters(*part, number);
    return std::move(result_);
  }

 private:
  void add(const std::string& what, const std::string& when, const Mesh& mesh, std::int64_t bytes,
           std::int64_t times, std::int64_t passes) {
    const int hosts = passes > 0 ? mesh.nodes() : 1;
    const bool in_memory = hosts < 2;
    result_.push_back({.what = what,
                       .when = when,
                       .between = in_memory ? Between::memory_of_host : Between::hosts,
                       .members = in_memory ? mesh.node().size() : hosts,
                       .times = times,
                       .bytes = bytes,
                       .sent = in_memory ? 0 : passes * times * sent_of(bytes, hosts)});
  }

  void add_layer(const LayerCost& layer, const char* when, const std::vector<std::int64_t>& statistics,
                 const std::vector<Exchanged>& all) {
    double bytes = 0;
    const std::vector<double> sums = sums_of(step_, statistics);
    for (const double of_sum : sums) bytes += of_sum;
    const Mesh& mesh = ranks_of(step_, layer);
    if (!sums.empty() && mesh.data().size() > 1)
      add("all-reduce of statistics, " + layer.name, when, mesh,
          std::llround(bytes / static_cast<double>(sums.size())), step_.micro_batches * std::ssize(sums), 2);
    for (const Exchanged& exchanged : all) {
      const int calls = exchanged.once_a_rank ? 1 : step_.workers.threads;
      add_exchange("all-gather", layer, when, exchanged.gathered, calls, 1);
      add_exchange("reduce-scatter", layer, when, exchanged.scattered, calls, 1);
      add_exchange("all-reduce", layer, when, exchanged.summed, calls, 2);
    }
  }

  void add_exchange(const char* kind, const LayerCost& layer, const char* when, std::int64_t floats,
                    int calls, std::int64_t passes) {
    if (floats == 0) return;
    const int members = step_.ranks.mesh().model().size();
    const std::int64_t times = std::int64_t{step_.micro_batches} * calls,
                       bytes = floats * kValue * step_.rows / calls;
    result_.push_back(
        {.what = fmt::format("{} of activations, {}", kind, layer.name),
         .when = when,
         .between = step_.ranks.nodes_of_model() > 1 ? Between::hosts : Between::processes_of_host,
         .members = members,
         .times = times,
         .bytes = bytes,
         .sent = passes * times * sent_of(bytes, members)});
  }

  /// `number`: of the buckets so far.
  void add_gradients(const PlacedParameters& part, int& number) {
    const std::span<const Range> buckets = part.shards.buckets();
    const int sharers = step_.compressed.empty() ? part.mesh.node().size() : 1;
    const int in_host = sharers * part.workers.threads;
    if (in_host > 1 && !buckets.empty())
      add("sum of the workers' gradients", "backward", part.mesh, in_host * buckets.front().last * kValue,
          step_.micro_batches, 0);
    for (const Range& bucket : buckets)
      if (part.mesh.nodes() > 1 && step_.compressed.empty())
        add(fmt::format("reduce-scatter of gradients, bucket {}", ++number), "backward", part.mesh,
            wire_bytes(step_, bucket) * part.values_of_node(), step_.micro_batches, 1);
  }

  /// Of error feedback, in which every rank takes part by itself.
  void add_compressed() {
    const Mesh& mesh = step_.ranks.mesh();
    const int ranks = mesh.data().size();
    for (const CompressedMessage& message : step_.compressed)
      if (ranks > 1)
        result_.push_back(
            {.what = message.what,
             .when = "after backward",
             .between = mesh.nodes() > 1 ? Between::hosts : Between::processes_of_host,
             .members = ranks,
             .times = step_.micro_batches,
             .bytes = message.bytes,
             .sent = (message.is_all_reduce ? 2 : 1) * step_.micro_batches * sent_of(message.bytes, ranks)});
  }

  void add_parameters(const PlacedParameters& part, int& number) {
    if (!step_.compressed.empty()) return;
    const bool are_sharded = step_.sharding == Sharding::parameters;
    const std::span<const Range> buckets = part.shards.buckets();
    for (auto bucket = buckets.rbegin(); bucket != buckets.rend() && part.mesh.nodes() > 1; ++bucket)
      add(fmt::format("all-gather of parameters, bucket {}", number--),
          are_sharded                       ? "forward, backward"
          : part.shards.one_rank_per_node() ? "next forward"
                                            : "after the update",
          part.mesh, wire_bytes(step_, *bucket), are_sharded ? 2 * step_.micro_batches : 1, 1);
  }

  const PlacedStep& step_;
  std::vector<Collective> result_;
};

}  // namespace

std::vector<Collective> collectives_of(const PlacedStep& step) { return StepCollectives(step).take(); }

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
  const auto value_bytes = static_cast<double>(step.compression.value_bytes());
  const bool splits_rows = !step.layers.empty() && step.layers.front().splits_rows;
  StepWork work{.data = times.data / (splits_rows ? step.ranks.mesh().model().size() : 1),
                .sums = times.sums,
                .update = times.update,
                .slowest_ratio = 1 + expected_maximum(times.processes) * times.deviation,
                .gradient_bytes = value_bytes * (encodes(step, cost) ? times.gradient_code_ratio : 1),
                .parameter_bytes = value_bytes * (encodes(step, cost) ? kUniformCodeRatio : 1),
                .micro_batches = step.micro_batches,
                .gathers_again = step.sharding == Sharding::parameters,
                .scalars = static_cast<double>(step.ranks.mesh().data().size() * step.scalars * kDouble),
                .compressed = step.compressed};
  const auto windows = [&](const Mesh& mesh) {
    return static_cast<double>(step.ranks.ranks_per_node()) / mesh.node().size();
  };
  for (const PlacedParameters& part : step.parameters) {
    work.nodes = std::max(work.nodes, part.mesh.nodes());
    work.publish_overlaps = work.publish_overlaps && part.shards.one_rank_per_node();
    // Windows of a host share its link.
    const double of_link = windows(step.ranks.mesh()) / windows(part.mesh);
    for (const Range& bucket : part.shards.buckets())
      work.buckets.push_back({.first = part.floats.first + bucket.first,
                              .last = part.floats.first + bucket.last,
                              .nodes = part.mesh.nodes(),
                              .gradients = part.values_of_node(),
                              .of_link = of_link});
  }
  if (!work.compressed.empty()) work.buckets.clear();
  for (const LayerCost& layer : step.layers)
    work.layers.push_back({.forward = layer.share * times.forward * share(layer.forward, forward),
                           .backward = layer.share * times.backward * share(layer.backward, backward),
                           .forward_waits = exchange_time(step, link, forward_of(layer)),
                           .backward_waits = exchange_time(step, link, backward_of(layer)),
                           .parameters = layer.range,
                           .forward_sums = sums_of(step, layer.forward_statistics),
                           .backward_sums = sums_of(step, layer.backward_statistics),
                           .sum_nodes = ranks_of(step, layer).nodes()});
  return work;
}

}  // namespace trainer
