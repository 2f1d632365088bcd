#include "models/guards/replica_guard.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <string>

#include "engine/math/checksum.h"
#include "engine/system/host.h"

namespace trainer {
namespace {

/// Floats of one checksum.
constexpr std::int64_t kBlock = 2048;
/// The least number of floats that a step checks.
constexpr std::size_t kFewReplicas = 64;

/// The place of a rank's replicas; precedes their hashes in its message.
struct Holder {
  std::int64_t node, model_rank;  ///< node: the lowest data rank on it
  std::int64_t front_node;        ///< the lowest rank on it, for parameters of all ranks
  char host[64];
};

}  // namespace

ReplicaGuard::ReplicaGuard(const NetworkPlan& plan, std::span<const float> states, Mesh& mesh,
                           ParameterWindows& windows, std::int64_t every)
    : plan_(plan), states_(states), mesh_(mesh), windows_(windows), every_(every) {
  add_replicas(windows.rest(), windows.border());
  if (windows.front()) add_replicas(*windows.front(), 0);
  std::int64_t replicas =
      !replicas_.empty() || mesh.model().size() > 1 ||
      ((!states.empty() || windows.rest().plan().replicated()) && mesh.world().size() > 1);
  mesh.world().sum(std::span(&replicas, 1));
  has_replicas_ = replicas > 0;
  const std::size_t share =
      (replicas_.size() + static_cast<std::size_t>(every) - 1) / static_cast<std::size_t>(every);
  most_watched_ = std::max(share, kFewReplicas);
  for (Replica& replica : watched()) replica.sum = checksum(replica.values);
}

/// Those of a window that begins at `offset` of the flat buffer.
void ReplicaGuard::add_replicas(const ParameterWindow& window, std::int64_t offset) {
  for (const Range& part : window.replicas()) {
    const Range range{offset + part.first, offset + part.last};
    int index = -1;
    for (const Parameter& parameter : plan_.parameters()) {
      ++index;
      const std::int64_t last = std::min(range.last, parameter.offset + parameter.shape.size());
      for (std::int64_t first = std::max(range.first, parameter.offset); first < last; first += kBlock)
        replicas_.push_back({.values = windows_.values().subspan(first, std::min(kBlock, last - first)),
                             .parameter = index,
                             .sum = 0});
    }
  }
}

std::span<ReplicaGuard::Replica> ReplicaGuard::watched() {
  const std::size_t left = replicas_.size() - first_watched_;
  return std::span(replicas_).subspan(first_watched_, std::min(most_watched_, left));
}

void ReplicaGuard::before_arrivals(std::int64_t step) {
  for (const Replica& replica : watched()) {
    if (checksum(replica.values) == replica.sum) continue;
    const Parameter& parameter = plan_.parameters()[static_cast<std::size_t>(replica.parameter)];
    throw Error(
        ExitCode::diverged,
        {Diagnostic{.what = fmt::format("a replica of {} changed in memory after step {} (rank {} on {})",
                                        parameter.name, step, mesh_.world().rank(), host_name()),
                    .notes = {"a bit flipped, or something wrote where it must not"},
                    .help = "test that host's memory; resume from the last checkpoint without it"}});
  }
}

void ReplicaGuard::after_publish(std::int64_t step) {
  if (replicas_.size() > most_watched_)
    first_watched_ = first_watched_ + most_watched_ < replicas_.size() ? first_watched_ + most_watched_ : 0;
  for (Replica& replica : watched()) replica.sum = checksum(replica.values);
  // A round of local SGD may pass several multiples.
  if (has_replicas_ && (step % every_ == 0 || step / every_ > seen_ / every_)) compare(step);
  seen_ = step;
}

std::vector<std::uint64_t> ReplicaGuard::hashes() const {
  std::vector<std::uint64_t> hashes;
  const FlatValues<const float> values = windows_.values();
  // Each rank that shares a window checks a share of its blocks.
  for (const Parameter& parameter : plan_.parameters()) {
    std::uint64_t hash = 0;
    const std::int64_t size = parameter.shape.size();
    if (windows_.shards_parameters()) {  // of which no rank has a replica
      hashes.push_back(0);
      continue;
    }
    const ParameterWindow& window =
        parameter.offset < windows_.border() ? *windows_.front() : windows_.rest();
    for (std::int64_t block = window.sharer(); block * kBlock < size; block += window.sharers()) {
      const std::int64_t first = block * kBlock;
      hash += mixed(checksum(values.subspan(parameter.offset + first, std::min(kBlock, size - first))) +
                    static_cast<std::uint64_t>(block));
    }
    hashes.push_back(hash);
  }
  for (const State& state : plan_.states())
    hashes.push_back(checksum(states_.subspan(static_cast<std::size_t>(state.offset),
                                              static_cast<std::size_t>(state.shape.size()))));
  return hashes;
}

std::string ReplicaGuard::difference_of(std::size_t item, const Messages& messages) const {
  /// The replica of the item on a node.
  struct Found {
    std::uint64_t hash = 0;
    std::string place;
  };
  const bool is_state = item >= plan_.parameters().size();
  const bool is_cut = !is_state && plan_.parameters()[item].shard_axis >= 0;
  const bool is_in_front = !is_state && plan_.parameters()[item].offset < windows_.border();
  std::map<std::array<std::int64_t, 3>, Found> replicas;
  for (std::size_t rank = 0; rank < messages.size(); ++rank) {
    Holder holder;
    std::memcpy(&holder, messages[rank].data(), sizeof holder);
    std::uint64_t hash = 0;
    std::memcpy(&hash, messages[rank].data() + sizeof holder + item * sizeof hash, sizeof hash);
    // Sharers of a node add up to one replica; each rank has states of its own.
    Found& replica =
        is_in_front
            ? replicas[{0, holder.front_node, 0}]
            : replicas[{holder.model_rank, holder.node, is_state ? static_cast<std::int64_t>(rank) : 0}];
    replica.hash += hash;
    if (replica.place.empty()) replica.place = fmt::format("rank {} on {}", rank, holder.host);
  }
  const Found* first = nullptr;
  std::int64_t column = -1;
  for (const auto& [key, replica] : replicas) {
    // Model columns hold different shards of a partitioned parameter.
    if (!first || (is_cut && key[0] != column)) first = &replica;
    column = key[0];
    if (replica.hash == first->hash) continue;
    const std::string name =
        is_state ? plan_.states()[item - plan_.parameters().size()].name : plan_.parameters()[item].name;
    return fmt::format("{} is not the same for {} and {}", name, first->place, replica.place);
  }
  return "";
}

void ReplicaGuard::compare(std::int64_t step) {
  Communicator& world = mesh_.world();
  const ParameterWindow* const front = windows_.front();
  Holder me{.node = mesh_.data().rank() - windows_.rest().sharer(),
            .model_rank = mesh_.model().rank(),
            .front_node = world.rank() - (front ? front->sharer() : 0)};
  std::strncpy(me.host, host_name().c_str(), sizeof me.host - 1);
  const std::vector<std::uint64_t> mine = hashes();
  std::vector<std::byte> message(sizeof me + mine.size() * sizeof mine[0]);
  std::memcpy(message.data(), &me, sizeof me);
  std::memcpy(message.data() + sizeof me, mine.data(), mine.size() * sizeof mine[0]);
  const auto messages = world.gather(message, 0);
  std::string difference;
  for (std::size_t item = 0; !messages.empty() && item < mine.size() && difference.empty(); ++item)
    difference = difference_of(item, messages);
  std::int64_t differences = difference.empty() ? 0 : 1;
  world.sum(std::span(&differences, 1));
  if (differences > 0)
    throw Error(
        ExitCode::diverged,
        {Diagnostic{
            .what = difference.empty() ? "replicas differ" : difference,
            .notes = {fmt::format("all were equal after step {}, but not after step {}", last_equal_, step),
                      "failing memory, processor or network"},
            .help =
                "resume from the last checkpoint, first without one of the hosts, then without the other"}});
  last_equal_ = step;
}

}  // namespace trainer
