#include "engine/parallel/ordered_reducer.h"

#include <algorithm>
#include <array>

#include "engine/core/index.h"
#include "engine/parallel/bucket_plan.h"
#include "engine/parallel/split_sum.h"

namespace trainer {
OrderedReducer::OrderedReducer(Mesh& mesh, ThreadPool& pool, ParameterWindow& window)
    : NodeReducer(mesh, pool, window) {
  const int nodes = plan().nodes();
  if (nodes == 0) return;
  Communicator& lane = plan().lane();
  const int leaves = memory_.virtual_workers().count;
  std::vector<std::int64_t> ends(at(2 * nodes));
  ends[at(2 * lane.rank())] = memory_.node_workers().first;
  ends[at(2 * lane.rank() + 1)] = memory_.node_workers().last;
  lane.sum(ends);
  std::vector<Range> all_roots;
  std::vector<std::int64_t> roots_of;
  for (int node = 0; node < nodes; ++node) {
    const SumTree theirs = SumTree::of_leaves(leaves, {ends[at(2 * node)], ends[at(2 * node + 1)]});
    all_roots.insert(all_roots.end(), theirs.roots().begin(), theirs.roots().end());
    roots_of.push_back(std::ssize(theirs.roots()));
  }
  root_tree_ = SumTree(leaves, all_roots);
  if (memory_.virtual_workers().rounds) root_tree_.round_summands();
  const auto my_roots = std::ssize(memory_.tree().roots());
  std::int64_t out = 0, in = 0;
  for (int bucket = 0; bucket < std::ssize(plan().buckets()); ++bucket) {
    first_out_.push_back(out);
    first_in_.push_back(in);
    for (int node = 0; node < nodes; ++node) {
      counts_out_.push_back(my_roots * plan().slice_of(bucket, node).count());
      counts_in_.push_back(roots_of[at(node)] * plan().my_slice(bucket).count());
    }
    out += my_roots * plan().lane_slice(bucket).count();
    in += std::ssize(all_roots) * plan().my_slice(bucket).count();
  }
  first_out_.push_back(out);
  first_in_.push_back(in);
  out_ = Arena(out);
  in_ = Arena(in);
}

/// Writes the roots to where the messages to the owners of the slices lie.
void OrderedReducer::sum_in_node(int bucket, int part, int parts) {
  const SumTree& tree = memory_.tree();
  const Range mine = slice(plan().lane_slice(bucket), part, parts);
  const auto gradients = memory_.window().all_gradients();
  std::array<const float*, VirtualWorkers::kMax> inputs{};
  std::array<float*, SumTree::kMaxRoots> roots{};
  std::int64_t message = first_out_[at(bucket)];
  for (int node = 0; node < plan().nodes(); ++node) {
    const Range theirs = plan().slice_of(bucket, node);
    const Range range{std::max(mine.first, theirs.first), std::min(mine.last, theirs.last)};
    const std::int64_t size = theirs.count() * std::ssize(tree.roots());
    if (range.count() > 0) {
      for (std::size_t input = 0; input < gradients.size(); ++input)
        inputs[input] = gradients[input] + range.first;
      for (std::size_t root = 0; root < tree.roots().size(); ++root)
        roots[root] = out_.floats().data() + message + static_cast<std::int64_t>(root) * theirs.count() +
                      (range.first - theirs.first);
      tree.sum(std::span(inputs).first(gradients.size()), std::span(roots).first(tree.roots().size()), 0,
               range.count());
    }
    message += size;
  }
}

std::unique_ptr<Request> OrderedReducer::start_exchange(int bucket) {
  const auto part = [&](const Arena& memory, const std::vector<std::int64_t>& firsts) {
    return memory.floats().subspan(at(firsts[at(bucket)]), at(firsts[at(bucket + 1)] - firsts[at(bucket)]));
  };
  const auto nodes = at(plan().nodes());
  const auto by_node = [&](const std::vector<std::int64_t>& counts) {
    return std::span(counts).subspan(at(bucket) * nodes, nodes);
  };
  const std::span<const float> out = part(out_, first_out_);
  const std::span<float> in = part(in_, first_in_);
  return wire() ? wire()->start_all_to_all(out, by_node(counts_out_), in, by_node(counts_in_))
                : plan().lane().start_all_to_all(out, by_node(counts_out_), in, by_node(counts_in_));
}

/// Adds the last levels of the tree: this rank's slices of what the nodes sent.
void OrderedReducer::sum_received() {
  std::int64_t floats = 0;
  for (const Range& part : memory_.shard()) floats += part.count();
  split_sum(floats, &pool_, [&](int part, int parts) {
    std::array<const float*, VirtualWorkers::kMax> inputs{};
    for (int bucket = 0; bucket < std::ssize(plan().buckets()); ++bucket) {
      const Range mine = plan().my_slice(bucket);
      const Range range = slice(mine, part, parts);
      if (range.count() == 0) continue;
      const float* const received = in_.floats().data() + first_in_[at(bucket)];
      for (std::size_t root = 0; root < root_tree_.inputs(); ++root)
        inputs[root] = received + static_cast<std::int64_t>(root) * mine.count() + (range.first - mine.first);
      float* const sum = memory_.sums(range).data();
      root_tree_.sum(std::span(inputs).first(root_tree_.inputs()), {&sum, 1}, 0, range.count());
    }
  });
}

std::vector<Range> OrderedReducer::overwritten() const {
  return {memory_.shard().begin(), memory_.shard().end()};
}

}  // namespace trainer
