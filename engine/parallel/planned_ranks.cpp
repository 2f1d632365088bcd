#include "engine/parallel/planned_ranks.h"

#include <fmt/core.h>

#include <algorithm>
#include <stdexcept>

namespace trainer {
namespace {

[[noreturn]] void fail() { throw std::logic_error("a planned rank cannot communicate"); }

/// Rank 0 of a group with `per_node` consecutive ranks on each node.
class PlannedGroup final : public Communicator {
 public:
  PlannedGroup(int size, int per_node) : size_(size), per_node_(per_node) {}

  int rank() const override { return 0; }
  int size() const override { return size_; }
  int world_rank(int rank) const override { return rank; }
  Heartbeat& heartbeat() override { return heartbeat_; }

  /// Nodes are alike, so the largest value of what describes a node is this rank's.
  void maximum(std::span<double>) override {}
  /// The ranks with this rank's place on their nodes: a lane of ShardPlan.
  std::unique_ptr<Communicator> split(int, int) override {
    return std::make_unique<PlannedGroup>(size_ / per_node_, 1);
  }

  void barrier() override { fail(); }
  void sum(std::span<float>) override { fail(); }
  void sum(std::span<double>) override { fail(); }
  void sum(std::span<std::int64_t>) override { fail(); }
  void broadcast(std::span<std::byte>, int) override { fail(); }
  std::vector<std::vector<std::byte>> gather(std::span<const std::byte>, int) override { fail(); }
  void all_gather(std::span<const float>, std::span<float>, std::span<const std::int64_t>) override {
    fail();
  }
  std::unique_ptr<Request> start_all_gather(std::span<const float>, std::span<float>,
                                            std::span<const std::int64_t>) override {
    fail();
  }
  std::unique_ptr<Request> start_all_gather(std::span<const std::byte>, std::span<std::byte>,
                                            std::span<const std::int64_t>) override {
    fail();
  }
  std::unique_ptr<Request> start_reduce_scatter(std::span<float>, std::span<const std::int64_t>) override {
    fail();
  }
  void all_to_all(std::span<const float>, std::span<const std::int64_t>, std::span<float>,
                  std::span<const std::int64_t>) override {
    fail();
  }
  std::unique_ptr<Request> start_all_to_all(std::span<const float>, std::span<const std::int64_t>,
                                            std::span<float>, std::span<const std::int64_t>) override {
    fail();
  }
  std::unique_ptr<Request> start_all_to_all(std::span<const std::byte>, std::span<const std::int64_t>,
                                            std::span<std::byte>, std::span<const std::int64_t>) override {
    fail();
  }
  std::unique_ptr<Communicator> split_by_host() override { fail(); }
  std::unique_ptr<SharedMemory> shared(std::int64_t) override { fail(); }
  std::unique_ptr<RemoteMemory> remote_memory(std::int64_t) override { fail(); }
  [[noreturn]] void abort(ExitCode) override { fail(); }

 private:
  int size_, per_node_;
  Heartbeat heartbeat_;
};

/// Ranks of a node. Error(ranks) as the constructor.
int checked_ranks_per_node(const Mesh::Options& options) {
  const int ranks = options.data * options.model;
  const int per_node = options.ranks_per_node > 0 ? options.ranks_per_node : ranks;
  if (ranks % per_node != 0)
    throw Error(ExitCode::ranks, fmt::format("{} ranks do not fill hosts of {} ranks each", ranks, per_node),
                fmt::format("--ranks-per-node K where K divides {}", ranks));
  if (per_node % options.model != 0 && options.model % per_node != 0)
    throw Error(
        ExitCode::ranks,
        fmt::format("hosts of {} ranks cut groups of {} model ranks unequally", per_node, options.model),
        "--ranks-per-node K where K is a multiple or a divisor of the model ranks");
  return per_node;
}

Mesh::Groups groups_of(const Mesh::Options& options, int per_node, Communicator& world) {
  const int data_per_node = std::max(1, per_node / options.model);
  std::unique_ptr<Mesh> as_data_ranks;
  if (options.model > 1)
    as_data_ranks =
        std::make_unique<Mesh>(groups_of({.data = options.data * options.model}, per_node, world), world);
  return {.data = std::make_unique<PlannedGroup>(options.data, data_per_node),
          .model = std::make_unique<PlannedGroup>(options.model, std::min(options.model, per_node)),
          .node = std::make_unique<PlannedGroup>(data_per_node, data_per_node),
          .nodes = options.data / data_per_node,
          .as_data_ranks = std::move(as_data_ranks)};
}

}  // namespace

PlannedRanks::PlannedRanks(const Mesh::Options& options)
    : ranks_per_node_(checked_ranks_per_node(options)),
      world_(std::make_unique<PlannedGroup>(options.data * options.model, ranks_per_node_)),
      mesh_(groups_of(options, ranks_per_node_, *world_), *world_) {}

int PlannedRanks::nodes_of_model() const { return std::max(1, mesh_.model().size() / ranks_per_node_); }

}  // namespace trainer
