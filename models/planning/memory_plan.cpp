#include "models/planning/memory_plan.h"

#include <algorithm>
#include <numeric>

#include "engine/core/sum_tree.h"
#include "engine/parallel/node_window.h"
#include "models/planning/compressed_bytes.h"

namespace trainer {
namespace {

constexpr auto kFloat = static_cast<std::int64_t>(sizeof(float));

/// Bytes that exchanges between nodes need at a time: the parts of all buckets that other nodes send, and in
/// exact mode those that are sent; bf16 adds what is packed.
std::int64_t message_bytes(const VirtualWorkers& workers, const ShardPlan& shards,
                           const Compression& compression, int gradients) {
  if (!shards.several_nodes()) return 0;
  std::int64_t received = 0, lane = 0, mine = 0;
  for (int bucket = 0; bucket < std::ssize(shards.buckets()); ++bucket) {
    received += shards.my_slice(bucket).count() * (shards.nodes() - 1);
    lane += shards.lane_slice(bucket).count();
    mine += shards.my_slice(bucket).count();
  }
  const std::int64_t roots = workers.exact ? gradients : 1;
  const std::int64_t packed = compression.value_bytes() * roots * (lane + received + mine);
  if (workers.exact) return kFloat * roots * (lane + received) + (compression.is_bf16() ? packed : 0);
  return compression.is_bf16() ? packed : kFloat * received;
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
    shared("parameters", values, sharers);
    shared("gradients", window.bytes() - values, sharers);
    for (const Range& range : part.shards.shard()) shard += kFloat * range.count();
    messages += message_bytes(part.workers, part.shards, needs.compression, gradients);
    in_windows += gradients * values;
    copy += (1 + needs.state_arrays) * values;
  }
  const PlacedParameters& rest = parameters.front();
  own("gradients of virtual workers", network.gradient_bytes() - in_windows);
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
