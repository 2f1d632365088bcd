#include "engine/parallel/mpi_reducer.h"

namespace trainer {

std::unique_ptr<Request> MpiReducer::start_exchange(int bucket) {
  const std::span<float> sums = memory_.sums(plan().lane_slice(bucket));
  return wire() ? wire()->start_reduce_scatter(sums, plan().counts(bucket))
                : plan().lane().start_reduce_scatter(sums, plan().counts(bucket));
}

std::vector<Range> MpiReducer::overwritten() const {
  // The sums of the node lie in the whole lane before MPI moves them.
  std::vector<Range> places(memory_.shard().begin(), memory_.shard().end());
  places.insert(places.end(), memory_.replicas().begin(), memory_.replicas().end());
  return places;
}

}  // namespace trainer
