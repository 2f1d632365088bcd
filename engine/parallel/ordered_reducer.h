#pragma once

#include <optional>

#include "engine/core/memory_ledger.h"
#include "engine/parallel/node_reducer.h"

namespace trainer {

/// Adds gradients between nodes along the tree over all virtual workers (exact mode): each node sends its
/// roots of the tree to the rank that updates the slice, and that rank adds them as the tree does.
class OrderedReducer final : public NodeReducer {
 public:
  OrderedReducer(Mesh& mesh, ThreadPool& pool, ParameterWindow& window);
  std::vector<Range> overwritten() const override;

 private:
  void sum_in_node(int bucket, int part, int parts) override;
  std::unique_ptr<Request> start_exchange(int bucket) override;
  void sum_received(int first, int last, ThreadPool* pool) override;
  void open(int bucket) override;
  void close(int bucket) override;
  std::span<float> out(int bucket) const { return part(*out_, first_out_, bucket); }
  std::span<float> in(int bucket) const { return part(*in_, first_in_, bucket); }
  static std::span<float> part(SharedMemory& memory, const std::vector<std::int64_t>& firsts, int bucket);

  SumTree root_tree_{1, {}};
  std::unique_ptr<SharedMemory> out_, in_;  ///< the roots of the node; of all nodes
  std::optional<CountedPages> counted_out_, counted_in_;
  std::vector<std::int64_t> first_out_, first_in_;    ///< by bucket
  std::vector<std::int64_t> counts_out_, counts_in_;  ///< by bucket, then node
};

}  // namespace trainer
