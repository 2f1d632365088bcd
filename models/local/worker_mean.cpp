#include "models/local/worker_mean.h"

#include <algorithm>
#include <utility>

#include "engine/math/elementwise.h"

namespace trainer {

WorkerMean::WorkerMean(Communicator& data, const VirtualWorkers& workers)
    : data_(data),
      workers_(workers.count),
      own_(SumTree::of_leaves(workers.count, workers.of_rank(data.rank()))) {
  for (int rank = 0; rank < data.size(); ++rank) {
    const SumTree theirs = SumTree::of_leaves(workers.count, workers.of_rank(rank));
    nodes_.insert(nodes_.end(), theirs.roots().begin(), theirs.roots().end());
    of_rank_.push_back(std::ssize(theirs.roots()));
  }
}

std::int64_t WorkerMean::message_floats(std::int64_t values) const {
  std::int64_t most = 0;
  for (int rank = 0; rank < data_.size(); ++rank)
    most = std::max(most, of_rank_[static_cast<std::size_t>(rank)] * values +
                              std::ssize(nodes_) * part_of(values, rank, data_.size()).count());
  return most;
}

void WorkerMean::compute(const std::vector<const float*>& arrays, std::span<float> mean) {
  std::vector<std::int64_t> parts, counts_out, counts_in;
  for (int rank = 0; rank < data_.size(); ++rank)
    parts.push_back(part_of(std::ssize(mean), rank, data_.size()).count());
  const Range mine = part_of(std::ssize(mean), data_.rank(), data_.size());
  for (std::size_t rank = 0; rank < parts.size(); ++rank) {
    counts_out.push_back(parts[rank] * std::ssize(own_.roots()));
    counts_in.push_back(mine.count() * of_rank_[rank]);
  }
  out_.resize(mean.size() * own_.roots().size());
  in_.resize(static_cast<std::size_t>(mine.count()) * nodes_.size());

  std::vector<const float*> inputs = arrays;
  std::vector<float*> roots(own_.roots().size());
  float* next = out_.data();
  for (const std::int64_t count : parts) {
    for (float*& root : roots) root = std::exchange(next, next + count);
    own_.sum(inputs, roots, 0, count);
    for (const float*& input : inputs) input += count;
  }
  data_.all_to_all(out_, counts_out, in_, counts_in);

  inputs.clear();
  for (std::size_t node = 0; node < nodes_.size(); ++node)
    inputs.push_back(in_.data() + static_cast<std::int64_t>(node) * mine.count());
  float* const sum = mean.data() + mine.first;
  SumTree(workers_, nodes_).sum(inputs, {&sum, 1}, 0, mine.count());
  scale(mine.count(), 1.0f / static_cast<float>(workers_), sum, sum);
  data_.all_gather({sum, static_cast<std::size_t>(mine.count())}, mean, parts);
}

}  // namespace trainer
