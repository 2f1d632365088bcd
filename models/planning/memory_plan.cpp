#include "models/planning/memory_plan.h"

#include <algorithm>
#include <numeric>

#include "engine/core/sum_tree.h"
#include "engine/parallel/node_window.h"
#include "models/planning/compressed_bytes.h"

namespace trainer {
namespace {

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

std::int64_t largest_parameter(const NetworkPlan& plan) {
  std::int64_t most = 0;
  for (const Parameter& parameter : plan.parameters()) most = std::max(most, parameter.shape.size());
  return most;
}

/// Bytes that exchanges between nodes need at a time: the parts of all buckets (`first` to `last`) that other
/// nodes send, and in exact mode those that are sent; bf16 adds what is packed.
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
  if (workers.exact) return kFloat * roots * (lane + received) + (compression.is_bf16() ? packed : 0);
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

/// The same with error feedback: what is sent and received.
std::int64_t compressed_message_bytes(const Compression& compression, const NetworkPlan& plan, int ranks) {
  std::int64_t bytes = 0;
  for (const CompressedMessage& message : compressed_messages(compression, plan, ranks))
    bytes += message.bytes;
  return compression.method == Compression::Method::one_bit ? bytes + bytes / ranks : bytes;
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
  const auto shared = [&](const char* kind, std::int64_t bytes, int ranks) {
    if (bytes > 0) plan.parts.push_back({kind, bytes, ranks, bytes * (host / ranks)});
  };
  const auto own = [&](const char* kind, std::int64_t bytes) { shared(kind, bytes, 1); };
  std::int64_t shard = 0, messages = 0, copy = 0, in_windows = 0;
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
    shard += kFloat * own_floats;
    const bool are_sharded = needs.sharding != Sharding::state && part.shards.several_nodes();
    // Besides the shard, the other ranks' floats of two buckets.
    const std::int64_t two = two_buckets(part.shards), nodes = std::max(1, part.shards.nodes());
    const std::int64_t sharded = kFloat * (own_floats + two - two / nodes);
    shared("parameters", are_sharded && needs.sharding == Sharding::parameters ? sharded : values, sharers);
    shared("gradients", are_sharded ? sharded + (gradients - 1) * kFloat * two : window.bytes() - values,
           sharers);
    messages += are_sharded ? message_bytes_of_two(part.workers, part.shards, needs.compression, gradients)
                            : message_bytes(part.workers, part.shards, needs.compression, gradients, 0,
                                            static_cast<int>(std::ssize(part.shards.buckets())));
    in_windows += gradients * values;
    copy += (1 + needs.state_arrays) * values;
  }
  const PlacedParameters& rest = parameters.front();
  std::int64_t of_virtual_workers = network.gradient_bytes() - in_windows;
  if (needs.sharding != Sharding::state && rest.shards.several_nodes())  // of a layer at a time
    of_virtual_workers = static_cast<std::int64_t>(
        static_cast<double>(of_virtual_workers) * static_cast<double>(largest_parameter(network.plan())) /
        static_cast<double>(std::max<std::int64_t>(1, rest.floats.count())));
  own("gradients of virtual workers", of_virtual_workers);
  own("optimizer state", needs.state_arrays * shard);
  own("activations and scratch", rest.workers.threads * network.worker_bytes());
  own("state of layers", kFloat * network.plan().state_end());
  if (has_feedback) {
    own("residual of compression", kFloat * network.plan().parameter_end());
    messages = compressed_message_bytes(needs.compression, network.plan(), rest.mesh.data().size());
  }
  own("messages", messages);
  if (needs.saves) own("copy for a checkpoint", copy / rest.mesh.data().size());
  shared("samples in memory", needs.samples, host);
  own("program", needs.program);
  return plan;
}

}  // namespace trainer
