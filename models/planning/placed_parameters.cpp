#include "models/planning/placed_parameters.h"

#include "engine/core/sum_tree.h"

namespace trainer {

int PlacedParameters::gradients_of_rank() const {
  std::ptrdiff_t count = 0;
  for (int worker = 0; worker < workers.threads; ++worker)
    count +=
        std::ssize(SumTree::of_leaves(workers.count, workers.of_worker(mesh.data().rank(), worker)).roots());
  return static_cast<int>(count);
}

int PlacedParameters::values_of_node() const {
  if (!workers.exact) return 1;
  const int last = mesh.node().size() - 1;
  const Range mine{workers.of_rank(0).first, workers.of_rank(last).last};
  return static_cast<int>(std::ssize(SumTree::of_leaves(workers.count, mine).roots()));
}

std::vector<PlacedParameters> placed_parameters(const Network& network, Mesh& mesh, bool has_feedback,
                                                bool whole_parameters) {
  const std::vector<std::int64_t> borders = network.plan().parameter_borders();
  const std::int64_t border = network.split_parameter_end();
  std::vector<PlacedParameters> placed;
  const auto add = [&](const Mesh& ranks, const VirtualWorkers& workers, const Range& floats) {
    std::vector<std::int64_t> own;
    for (const std::int64_t offset : borders)
      if (offset >= floats.first && offset < floats.last) own.push_back(offset - floats.first);
    own.push_back(floats.count());
    placed.push_back({.mesh = ranks,
                      .workers = workers,
                      .shards = ShardPlan(ranks.data(), has_feedback ? 0 : ranks.node().rank(),
                                          has_feedback ? 1 : ranks.node().size(), own,
                                          {.replicated = has_feedback, .whole_parameters = whole_parameters}),
                      .floats = floats});
  };
  add(mesh, network.virtual_workers(), {border, borders.back()});
  if (border > 0) add(mesh.as_data_ranks(), network.split_workers(), {0, border});
  return placed;
}

}  // namespace trainer
