#include "engine/parallel/parameter_window.h"

#include <algorithm>

#include "engine/parallel/paged_memory.h"

namespace trainer {
namespace {

std::span<float> part_of(std::span<float> floats, const Range& range) {
  return floats.subspan(static_cast<std::size_t>(range.first), static_cast<std::size_t>(range.count()));
}

std::span<float> floats_of(std::span<std::byte> bytes) {
  return {reinterpret_cast<float*>(bytes.data()), bytes.size() / sizeof(float)};
}

}  // namespace

ParameterWindow::ParameterWindow(Mesh& mesh, const ThreadPool& pool, const std::vector<std::int64_t>& borders,
                                 const Options& options)
    : options_(options),
      virtual_workers_(VirtualWorkers::one_for_each_worker(mesh.data().size(), pool.size())),
      data_ranks_(mesh.data().size()) {
  if (options.virtual_workers > 0) {
    virtual_workers_.count = options.virtual_workers;
    virtual_workers_.exact = true;
    virtual_workers_.ends = options.ends;
    virtual_workers_.rounds = options.compression.is_bf16();
  }
  options_.replicated |= options.compression.has_feedback();
  if (data_ranks_ == 1) options_.sharding = Sharding::state;
  make_window(mesh, pool, borders.back());
  plan_.emplace(
      mesh.data(), node_rank_, node_ranks_, borders,
      ShardPlan::Options{.bucket_floats = options.bucket_floats,
                         .cut_floats = shards_gradients() || options_.replicated ? 0 : options.cut_floats,
                         .replicated = options_.replicated,
                         .whole_parameters = options.whole_parameters});
  if (!shards_gradients()) return;
  if (!shards_parameters()) commit_pages(values(), MemoryKind::parameters);
  for (const Range& mine : shard()) {
    commit_values(mine);
    commit_pages(sums(mine), MemoryKind::gradients);
  }
}

/// Shared by the node if all nodes have the memory for it, else private: every rank is then a node of its
/// own.
void ParameterWindow::make_window(Mesh& mesh, const ThreadPool& pool, std::int64_t floats) {
  const auto layout = [&] {
    return NodeWindow::Layout{.floats = floats,
                              .workers = std::vector<int>(static_cast<std::size_t>(node_ranks_), pool.size()),
                              .gradients = node_gradients_,
                              .table_rows = mesh.data().size(),
                              .first_rank = mesh.world().rank() - node_rank_ * mesh.model().size(),
                              .rank_step = mesh.model().size()};
  };
  const auto use = [&](std::unique_ptr<SharedMemory> memory) {
    window_.emplace(layout(), std::move(memory), node_rank_, options_.oversubscribed,
                    mesh.world().heartbeat());
    if (!shards_gradients()) window_->count_pages();
  };
  if (options_.share && !options_.replicated && !shards_gradients()) {
    place_on(mesh.node(), mesh.data().rank(), pool.size());
    std::unique_ptr<SharedMemory> memory = mesh.node().shared(layout().bytes());
    std::int64_t refusals = memory ? 0 : 1;
    mesh.data().sum(std::span(&refusals, 1));
    if (refusals == 0) return use(std::move(memory));
    refused_ = true;
  }
  const auto alone = solo();
  place_on(*alone, mesh.data().rank(), pool.size());
  if (!shards_gradients()) return use(alone->shared(layout().bytes()));
  std::unique_ptr<SharedMemory> memory = reserved_memory(layout().bytes());
  // Progress and tables follow the floats.
  commit_pages(floats_of(memory->bytes().subspan(
                   static_cast<std::size_t>(bytes_of<float>(floats) * (1 + node_gradients_)))),
               MemoryKind::gradients);
  use(std::move(memory));
}

/// Finds this rank's place among the gradients of its node. A node's ranks are consecutive in data().
void ParameterWindow::place_on(const Communicator& node, int data_rank, int threads) {
  node_rank_ = node.rank();
  node_ranks_ = node.size();
  const int first = data_rank - node_rank_;
  node_workers_ = {virtual_workers_.of_rank(first).first,
                   virtual_workers_.of_rank(first + node_ranks_ - 1).last};
  std::vector<Range> inputs;
  for (int rank = first; rank < first + node_ranks_; ++rank) {
    if (rank == data_rank) first_gradient_ = static_cast<int>(inputs.size());
    for (int worker = 0; worker < threads; ++worker) {
      const SumTree theirs =
          SumTree::of_leaves(virtual_workers_.count, virtual_workers_.of_worker(rank, worker));
      inputs.insert(inputs.end(), theirs.roots().begin(), theirs.roots().end());
    }
    if (rank == data_rank) gradient_count_ = static_cast<int>(inputs.size()) - first_gradient_;
  }
  node_gradients_ = static_cast<int>(inputs.size());
  // Between nodes MPI adds the nodes' sums, unless the tree continues there.
  tree_ = virtual_workers_.exact ? SumTree(virtual_workers_.count, inputs)
                                 : SumTree::of_leaves(node_gradients_, {0, node_gradients_});
  if (virtual_workers_.rounds) tree_.round_summands();
}

std::span<float> ParameterWindow::gradients(int index) {
  return {window_->gradients(first_gradient_ + index), window_->values().size()};
}

std::vector<std::span<float>> ParameterWindow::all_gradients() {
  std::vector<std::span<float>> all;
  all.reserve(static_cast<std::size_t>(gradient_count_));
  for (int index = 0; index < gradient_count_; ++index) all.push_back(gradients(index));
  return all;
}

std::span<float> ParameterWindow::sums(const Range& part) { return part_of(gradients(0), part); }

template <class Visit>
void ParameterWindow::visit_others(const Range& range, Visit visit) const {
  std::int64_t first = range.first;
  const std::span<const Range> all = shard();
  for (auto mine = std::ranges::upper_bound(all, range.first, {}, &Range::last);
       mine != all.end() && mine->first < range.last; ++mine) {
    if (first < mine->first) visit(first, mine->first);
    first = mine->last;
  }
  if (first < range.last) visit(first, range.last);
}

void ParameterWindow::commit_values(const Range& range) {
  if (shards_parameters()) commit_pages(part_of(values(), range), MemoryKind::parameters);
}

void ParameterWindow::release_values(const Range& range) {
  if (!shards_parameters()) return;
  visit_others(range, [this](std::int64_t first, std::int64_t last) {
    release_pages(part_of(values(), Range{first, last}));
  });
}

void ParameterWindow::commit_gradients(const Range& range) {
  if (!shards_gradients()) return;
  for (int index = 0; index < gradient_count_; ++index)
    commit_pages(part_of(gradients(index), range), MemoryKind::gradients);
}

void ParameterWindow::release_gradients(const Range& range) {
  if (!shards_gradients()) return;
  visit_others(range, [this](std::int64_t first, std::int64_t last) {
    release_pages(part_of(gradients(0), Range{first, last}));
  });
  for (int index = 1; index < gradient_count_; ++index) release_pages(part_of(gradients(index), range));
}

std::string ParameterWindow::transport() const {
  if (plan_->several_nodes())
    return std::string(plan_->one_rank_per_node() ? "MPI" : "window + MPI") +
           (plan_->lane().encodes_floats() ? ", encoded" : "");
  return data_ranks_ > 1 ? "window" : "none";
}

}  // namespace trainer
