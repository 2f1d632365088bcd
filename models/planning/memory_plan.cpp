#include "models/planning/memory_plan.h"

#include <algorithm>
#include <numeric>

#include "engine/core/arena.h"
#include "engine/core/memory_ledger.h"
#include "engine/core/sum_tree.h"
#include "engine/parallel/node_window.h"
#include "models/checkpoints/checkpoint_writer.h"
#include "models/planning/compressed_bytes.h"
#include "models/planning/gathered_buckets.h"
#include "models/planning/layer_costs.h"

namespace trainer {
namespace {

constexpr const char* kProgram = "program";
constexpr auto kFloat = static_cast<std::int64_t>(sizeof(float));

/// The most floats of two consecutive buckets: what is computed, and what is under way.
std::int64_t two_buckets(const ShardPlan& shards) {
  std::int64_t most = 0, before = 0;
  for (const Range& bucket : shards.buckets()) {
    most = std::max(most, before + bucket.count());
    before = bucket.count();
  }
  return most;
}

/// Bytes that a rank receives where the gradient of activations is scattered over the rows of model ranks.
std::int64_t exchange_bytes(const Network& network, const Mesh& mesh) {
  std::int64_t most = 0;
  for (const LayerCost& layer : layer_costs(network))
    for (const ExchangeTraffic& traffic : layer.traffic) most = std::max(most, traffic.scattered_backward);
  return kFloat * most * network.input_rows(network.plan().batch()).count() * (mesh.model().size() - 1);
}

/// Where threads share the rows that model ranks gather, forward and backward.
std::int64_t shared_rows_bytes(const Network& network, const PlacedParameters& rest) {
  if (rest.workers.threads < 2) return 0;
  const Range mine = rest.workers.of_rank(rest.mesh.data().rank());
  const std::int64_t rows = rest.workers.rows(mine, network.plan().batch()).count() + 1;
  std::int64_t bytes = 0;
  for (const LayerCost& layer : layer_costs(network))
    for (const ExchangeTraffic& traffic : layer.traffic)
      if (traffic.once_a_rank) bytes += 2 * Arena::bytes_of(traffic.gathered_forward * rows);
  return bytes;
}

/// Of the writer with the most: its arrays, and whole ones of what model ranks share.
std::int64_t checkpoint_bytes(const NetworkPlan& plan, int writers, int arrays) {
  const std::vector<Parameter>& parameters = plan.parameters();
  const std::vector<std::size_t> cuts = CheckpointWriter::cuts(parameters, writers);
  std::int64_t most = 0;
  for (std::size_t writer = 0; writer + 1 < cuts.size(); ++writer) {
    std::int64_t floats = writer == 0 ? plan.state_end() : 0;
    for (std::size_t i = cuts[writer]; i < cuts[writer + 1]; ++i)
      floats += arrays * (parameters[i].shape.size() +
                          (parameters[i].shard_axis < 0 ? 0 : parameters[i].whole_shape().size()));
    most = std::max(most, kFloat * floats);
  }
  return most;
}

/// Bytes that exchanges between nodes need at a time: the parts of all buckets (`first` to `last`) that other
/// nodes send, and in exact mode all parts and those that are sent; bf16 adds what is packed.
std::int64_t message_bytes(const VirtualWorkers& workers, const ShardPlan& shards,
                           const Compression& compression, int gradients, int first, int last) {
  if (!shards.several_nodes()) return 0;
  std::int64_t received = 0, lane = 0, mine = 0;
  for (int bucket = first; bucket < last; ++bucket) {
    received += shards.my_slice(bucket).count() * (shards.nodes() - 1);
    lane += shards.lane_slice(bucket).count();
    mine += shards.my_slice(bucket).count();
  }
  const std::int64_t roots = workers.exact ? gradients : 1;
  const std::int64_t packed = compression.value_bytes() * roots * (lane + received + mine);
  if (workers.exact) return kFloat * roots * (lane + received + mine) + (compression.is_bf16() ? packed : 0);
  return compression.is_bf16() ? packed : kFloat * received;
}

/// The same of sharded gradients, of which two buckets are under way.
std::int64_t message_bytes_of_two(const VirtualWorkers& workers, const ShardPlan& shards,
                                  const Compression& compression, int gradients) {
  std::int64_t most = 0;
  const auto buckets = static_cast<int>(std::ssize(shards.buckets()));
  for (int bucket = 0; bucket < buckets; ++bucket)
    most = std::max(
        most, message_bytes(workers, shards, compression, gradients, bucket, std::min(bucket + 2, buckets)));
  return most;
}

/// Of the rank that hosts the most.
std::int64_t most_hosted(const VirtualWorkers& workers) {
  std::int64_t most = 0;
  for (int rank = 0; rank < workers.ranks; ++rank) most = std::max(most, workers.of_rank(rank).count());
  return most;
}

/// The same with error feedback: what is received of `arrays` arrays, and sent of `own` ones.
std::int64_t compressed_message_bytes(const Compression& compression, const NetworkPlan& plan,
                                      std::int64_t arrays, std::int64_t own) {
  std::int64_t bytes = 0;
  for (const CompressedMessage& message : compressed_messages(compression, plan, arrays))
    bytes += message.bytes;
  return compression.method == Compression::Method::one_bit ? bytes + bytes / arrays * own : bytes;
}

}  // namespace

std::int64_t MemoryPlan::of_host() const {
  return std::accumulate(parts.begin(), parts.end(), std::int64_t{0},
                         [](std::int64_t sum, const Part& part) { return sum + part.on_host; });
}

std::int64_t MemoryPlan::of_rank() const {
  std::int64_t sum = 0;
  for (const Part& part : parts)
    if (part.sharers == 1) sum += part.bytes;
  return sum;
}

MemoryPlan memory_plan(const Network& network, const std::vector<PlacedParameters>& parameters,
                       const MemoryNeeds& needs) {
  const bool has_feedback = needs.compression.has_feedback();
  const int host = needs.ranks_per_host;
  MemoryPlan plan;
  const auto shared = [&](MemoryKind kind, std::int64_t bytes, int ranks) {
    if (bytes > 0) plan.parts.push_back({name_of(kind), bytes, ranks, bytes * (host / ranks)});
  };
  const auto own = [&](MemoryKind kind, std::int64_t bytes) { shared(kind, bytes, 1); };
  std::int64_t shard = 0, messages = exchange_bytes(network, parameters.front().mesh);
  for (const PlacedParameters& part : parameters) {
    const int sharers = has_feedback ? 1 : part.mesh.node().size(), gradients = part.gradients_of_rank();
    const std::int64_t values = kFloat * part.floats.count();
    // The window holds the gradients of all ranks that share it.
    const NodeWindow::Layout window{
        .floats = part.floats.count(),
        .workers = std::vector<int>(static_cast<std::size_t>(sharers), part.workers.threads),
        .gradients = gradients * sharers,
        .table_rows = part.mesh.data().size()};
    std::int64_t own_floats = 0;
    for (const Range& range : part.shards.shard()) own_floats += range.count();
    shard += own_floats;
    const bool are_sharded = needs.sharding != Sharding::state && part.shards.several_nodes();
    // Besides the shard, the other ranks' floats of two buckets.
    const std::int64_t two = two_buckets(part.shards), nodes = std::max(1, part.shards.nodes());
    const std::int64_t sharded = kFloat * (own_floats + two - two / nodes);
    shared(MemoryKind::parameters,
           are_sharded && needs.sharding == Sharding::parameters
               ? kFloat * (own_floats + gathered_floats(network.layers(), part.shards))
               : values,
           sharers);
    shared(MemoryKind::gradients,
           are_sharded ? sharded + (gradients - 1) * kFloat * two : window.bytes() - values, sharers);
    messages += are_sharded ? message_bytes_of_two(part.workers, part.shards, needs.compression, gradients)
                            : message_bytes(part.workers, part.shards, needs.compression, gradients, 0,
                                            static_cast<int>(std::ssize(part.shards.buckets())));
  }
  const PlacedParameters& rest = parameters.front();
  own(MemoryKind::virtual_worker_gradients,
      network.virtual_worker_bytes(needs.sharding != Sharding::state && rest.shards.several_nodes()));
  own(MemoryKind::optimizer_state, Arena::bytes_of(needs.saved_arrays * shard) +
                                       Arena::bytes_of(needs.keeps_gradients ? shard : 0) +
                                       Arena::bytes_of(needs.optimizer_scratch));
  own(MemoryKind::activations,
      rest.workers.threads * network.worker_bytes() + shared_rows_bytes(network, rest));
  own(MemoryKind::layer_states, kFloat * network.plan().state_end());
  if (has_feedback) {
    const Communicator& ranks = rest.mesh.data();
    if (!needs.is_local) own(MemoryKind::residual, Arena::bytes_of(network.plan().parameter_end()));
    messages = compressed_message_bytes(needs.compression, network.plan(),
                                        needs.is_local ? rest.workers.count : ranks.size(),
                                        needs.is_local ? most_hosted(rest.workers) : 1);
  }
  own(MemoryKind::messages, messages);
  if (needs.saves)
    own(MemoryKind::checkpoint,
        checkpoint_bytes(network.plan(), rest.mesh.data().size(), 1 + needs.saved_arrays));
  shared(MemoryKind::samples, needs.samples, host);
  if (needs.program > 0) plan.parts.push_back({kProgram, needs.program, 1, needs.program * host});
  return plan;
}

}  // namespace trainer
