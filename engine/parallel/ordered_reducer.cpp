#include "engine/parallel/ordered_reducer.h"

#include <algorithm>
#include <array>

#include "engine/core/index.h"
#include "engine/parallel/bucket_plan.h"
#include "engine/parallel/memory_block.h"
#include "engine/parallel/paged_memory.h"
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
  const auto memory = [&](std::int64_t floats) {
    const std::int64_t bytes = floats * static_cast<std::int64_t>(sizeof(float));
    return memory_.shards_gradients() ? reserved_memory(bytes) : private_memory(bytes);
  };
  out_ = memory(out);
  in_ = memory(in);
  if (memory_.shards_gradients()) return;
  counted_out_.emplace(MemoryKind::messages, out_->bytes());
  counted_in_.emplace(MemoryKind::messages, in_->bytes());
}

std::span<float> OrderedReducer::part(SharedMemory& memory, const std::vector<std::int64_t>& firsts,
                                      int bucket) {
  return {reinterpret_cast<float*>(memory.bytes().data()) + firsts[at(bucket)],
          at(firsts[at(bucket + 1)] - firsts[at(bucket)])};
}

void OrderedReducer::open(int bucket) {
  if (!memory_.shards_gradients()) return;
  commit_pages(out(bucket), MemoryKind::messages);
  commit_pages(in(bucket), MemoryKind::messages);
}

void OrderedReducer::close(int bucket) {
  if (!memory_.shards_gradients()) return;
  release_pages(out(bucket));
  release_pages(in(bucket));
}

/// Writes the roots to where the messages to the owners of the slices lie.
void OrderedReducer::sum_in_node(int bucket, int part, int parts) {
  const SumTree& tree = memory_.tree();
  const Range mine = slice(plan().lane_slice(bucket), part, parts);
  const auto gradients = memory_.window().all_gradients();
  std::array<const float*, VirtualWorkers::kMax> inputs{};
  std::array<float*, SumTree::kMaxRoots> roots{};
  float* message = out(bucket).data();
  for (int node = 0; node < plan().nodes(); ++node) {
    const Range theirs = plan().slice_of(bucket, node);
    const Range range{std::max(mine.first, theirs.first), std::min(mine.last, theirs.last)};
    const std::int64_t size = theirs.count() * std::ssize(tree.roots());
    if (range.count() > 0) {
      for (std::size_t input = 0; input < gradients.size(); ++input)
        inputs[input] = gradients[input] + range.first;
      for (std::size_t root = 0; root < tree.roots().size(); ++root)
        roots[root] =
            message + static_cast<std::int64_t>(root) * theirs.count() + (range.first - theirs.first);
      tree.sum(std::span(inputs).first(gradients.size()), std::span(roots).first(tree.roots().size()), 0,
               range.count());
    }
    message += size;
  }
}

std::unique_ptr<Request> OrderedReducer::start_exchange(int bucket) {
  const auto nodes = at(plan().nodes());
  const auto by_node = [&](const std::vector<std::int64_t>& counts) {
    return std::span(counts).subspan(at(bucket) * nodes, nodes);
  };
  const std::span<const float> sent = out(bucket);
  return wire() ? wire()->start_all_to_all(sent, by_node(counts_out_), in(bucket), by_node(counts_in_))
                : plan().lane().start_all_to_all(sent, by_node(counts_out_), in(bucket), by_node(counts_in_));
}

/// Adds the last levels of the tree: this rank's slices of what the nodes sent.
void OrderedReducer::sum_received(int first, int last, ThreadPool* pool) {
  std::int64_t floats = 0;
  for (int bucket = first; bucket < last; ++bucket) floats += plan().my_slice(bucket).count();
  split_sum(floats, pool, [&](int part, int parts) {
    std::array<const float*, VirtualWorkers::kMax> inputs{};
    for (int bucket = first; bucket < last; ++bucket) {
      const Range mine = plan().my_slice(bucket);
      const Range range = slice(mine, part, parts);
      if (range.count() == 0) continue;
      const float* const received = in(bucket).data();
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
