#include "engine/parallel/node_sum.h"

#include <algorithm>
#include <numeric>

namespace trainer {

NodeSum::NodeSum(Mesh& mesh, ThreadPool& pool, bool share)
    : pool_(pool), workers_(static_cast<std::size_t>(pool.size())) {
  Communicator& data = mesh.data();
  const auto alone = solo();
  Communicator* node = share ? &mesh.node() : alone.get();
  if (!share_with(*node, data)) {
    node = alone.get();
    share_with(*node, data);
  }
  several_nodes_ = node->size() < data.size();
  if (!several_nodes_) return;
  auto group = data.split(node->rank() == 0 ? 0 : 1, data.rank());
  if (node->rank() == 0) leaders_ = std::move(group);
}

/// False on every rank when the memory cannot be had on one.
bool NodeSum::share_with(Communicator& node, Communicator& data) {
  std::vector<std::int64_t> threads(static_cast<std::size_t>(node.size()));
  threads[static_cast<std::size_t>(node.rank())] = pool_.size();
  node.sum(threads);
  const auto mine = threads.begin() + node.rank();
  first_worker_ = static_cast<int>(std::accumulate(threads.begin(), mine, std::int64_t{0}));
  node_workers_ = static_cast<int>(std::accumulate(mine, threads.end(), std::int64_t{first_worker_}));

  const std::int64_t doubles = 2 * kSlot * node_workers_;
  memory_ = node.shared(bytes_of<SharedCounter>(node_workers_ + 1) + bytes_of<double>(doubles + kSlot));
  std::int64_t refusals = memory_ ? 0 : 1;
  data.sum(std::span(&refusals, 1));
  if (refusals > 0) return false;
  std::span<std::byte> room = memory_->bytes();
  arrived_ = take<SharedCounter>(room, node_workers_);
  published_ = take<SharedCounter>(room, 1);
  slots_ = take<double>(room, doubles);
  result_ = take<double>(room, kSlot);
  return true;
}

/// Two of each worker, used in turn: while some still read one, others fill the next.
std::span<double> NodeSum::slot(int node_worker, std::int64_t sum) const {
  return slots_.subspan(static_cast<std::size_t>((2 * node_worker + sum % 2) * kSlot), kSlot);
}

void NodeSum::sum(int worker, std::span<double> values) {
  if (node_workers_ == 1 && !several_nodes_) return;
  while (!values.empty()) {
    const std::size_t count = std::min(values.size(), static_cast<std::size_t>(kSlot));
    sum_part(worker, values.first(count));
    values = values.subspan(count);
  }
}

void NodeSum::sum_part(int worker, std::span<double> values) {
  const std::int64_t sum = ++workers_[static_cast<std::size_t>(worker)].sums;
  const int me = first_worker_ + worker;
  std::ranges::copy(values, slot(me, sum).begin());
  arrived_[static_cast<std::size_t>(me)].store(sum);
  if (!several_nodes_) return add_slots(sum, values);
  if (me > 0) {
    wait_for(published_[0], sum);
    std::ranges::copy(result_.first(values.size()), values.begin());
    return;
  }
  // The main thread of the node's first rank, so it may communicate.
  add_slots(sum, values);
  leaders_->sum(values);
  std::ranges::copy(values, result_.begin());
  published_[0].store(sum);
}

void NodeSum::wait_for(SharedCounter& counter, std::int64_t count) const {
  pool_.wait([&] { return counter.load() >= count; }, [&] { counter.sleep_below(count); });
}

void NodeSum::add_slots(std::int64_t sum, std::span<double> values) const {
  for (SharedCounter& worker : arrived_) wait_for(worker, sum);
  std::ranges::copy(slot(0, sum).first(values.size()), values.begin());
  for (int other = 1; other < node_workers_; ++other) {
    const std::span<const double> part = slot(other, sum);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] += part[i];
  }
}

}  // namespace trainer
