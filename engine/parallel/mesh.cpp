#include "engine/parallel/mesh.h"

#include <fmt/core.h>

#include <utility>

namespace trainer {
namespace {

std::string help(int ranks, const Mesh::Options& options) {
  const std::int64_t needed = std::int64_t{options.data} * options.model;
  std::string text = fmt::format("mpirun -n {} ..., or ", needed);
  if (ranks % options.model == 0)
    text += fmt::format("--mesh {}x{}, or ", ranks / options.model, options.model);
  else if (ranks % options.data == 0)
    text += fmt::format("--mesh {}x{}, or ", options.data, ranks / options.data);
  return text + "--datapar";
}

}  // namespace

Mesh::Mesh(Communicator& world, const Options& options) : world_(world) {
  if (options.data < 1 || options.model < 1 || std::int64_t{options.data} * options.model != world.size())
    throw Error(
        ExitCode::ranks,
        fmt::format("{} rank{} do{} not make a {}x{} mesh", world.size(), world.size() == 1 ? "" : "s",
                    world.size() == 1 ? "es" : "", options.data, options.model),
        help(world.size(), options));
  const int data_rank = world.rank() / options.model, model_rank = world.rank() % options.model;
  data_ = world.split(model_rank, data_rank);
  model_ = world.split(data_rank, model_rank);
  node_ = data_->split_by_host();
  if (options.ranks_per_node > 0) node_ = node_->split(world.rank() / options.ranks_per_node, node_->rank());
  std::int64_t nodes = node_->rank() == 0 ? 1 : 0;
  data_->sum(std::span(&nodes, 1));
  nodes_ = static_cast<int>(nodes);
  if (options.model > 1)
    as_data_ranks_ = std::make_unique<Mesh>(
        world, Options{.data = world.size(), .model = 1, .ranks_per_node = options.ranks_per_node});
}

Mesh::~Mesh() = default;

Mesh::Mesh(Groups groups, Communicator& world)
    : world_(world),
      data_(std::move(groups.data)),
      model_(std::move(groups.model)),
      node_(std::move(groups.node)),
      nodes_(groups.nodes),
      as_data_ranks_(std::move(groups.as_data_ranks)) {}

}  // namespace trainer
