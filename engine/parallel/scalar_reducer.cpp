#include "engine/parallel/scalar_reducer.h"

#include <algorithm>
#include <array>
#include <optional>

namespace trainer {
namespace {

constexpr const char* kWhat = "statistics over the batch";

}  // namespace

ScalarReducer::ScalarReducer(Mesh& mesh, ThreadPool& pool, bool share, const VirtualWorkers& virtual_workers)
    : pool_(pool),
      heartbeat_(mesh.world().heartbeat()),
      virtual_workers_(virtual_workers),
      rank_(mesh.data().rank()),
      several_ranks_(mesh.data().size() > 1),
      workers_(static_cast<std::size_t>(pool.size())) {
  Communicator& data = mesh.data();
  const auto alone = solo();
  Communicator* node = share ? &mesh.node() : alone.get();
  if (!share_with(*node, data)) {
    node = alone.get();
    share_with(*node, data);
  }
  for (Worker& worker : workers_)
    worker.lines.resize(static_cast<std::size_t>(virtual_workers_of_node_.count()));
  node_tree_ = SumTree::of_leaves(static_cast<int>(virtual_workers_of_node_.count()),
                                  {0, virtual_workers_of_node_.count()});
  rank_step_ = mesh.model().size();
  first_rank_ = mesh.world().rank() - node->rank() * rank_step_;
  several_nodes_ = node->size() < data.size();
  if (!several_nodes_) return;
  auto group = data.split(node->rank() == 0 ? 0 : 1, data.rank());
  if (node->rank() != 0) return;
  leaders_ = std::move(group);
  if (!virtual_workers_.exact) return;
  whole_tree_ = SumTree::of_leaves(virtual_workers_.count, {0, virtual_workers_.count});
  all_lines_.resize(static_cast<std::size_t>(virtual_workers_.count) * kSlot);
}

/// False on every rank when the memory cannot be had on one.
bool ScalarReducer::share_with(Communicator& node, Communicator& data) {
  first_worker_ = node.rank() * pool_.size();
  const int first_rank = rank_ - node.rank();
  virtual_workers_of_node_ = {virtual_workers_.of_rank(first_rank).first,
                              virtual_workers_.of_rank(first_rank + node.size() - 1).last};

  const int workers = node.size() * pool_.size();
  const std::int64_t doubles = 2 * kSlot * virtual_workers_of_node_.count();
  memory_ = node.shared(bytes_of<SharedCounter>(workers + 1) + bytes_of<double>(doubles + kSlot));
  std::int64_t refusals = memory_ ? 0 : 1;
  data.sum(std::span(&refusals, 1));
  if (refusals > 0) return false;
  std::span<std::byte> room = memory_->bytes();
  arrived_ = take<SharedCounter>(room, workers);
  published_ = take<SharedCounter>(room, 1);
  slots_ = take<double>(room, doubles);
  result_ = take<double>(room, kSlot);
  return true;
}

/// Two of each virtual worker, used in turn: while some still read one, others fill the next.
std::span<double> ScalarReducer::slot(std::int64_t index, std::int64_t sum) const {
  return slots_.subspan(static_cast<std::size_t>((2 * index + sum % 2) * kSlot), kSlot);
}

void ScalarReducer::sum(int worker, std::span<const double> lines, std::span<double> total) {
  const std::size_t width = total.size();
  if (virtual_workers_.count == 1) {
    std::ranges::copy(lines, total.begin());
    return;
  }
  using Clock = std::chrono::steady_clock;
  const bool is_timed = worker == 0 && several_ranks_;
  const Clock::time_point begin = is_timed ? Clock::now() : Clock::time_point{};
  for (std::size_t first = 0; first < width; first += kSlot) {
    const std::size_t count = std::min(width - first, static_cast<std::size_t>(kSlot));
    const auto line = [&](std::int64_t index) {
      return lines.subspan(static_cast<std::size_t>(index) * width + first, count);
    };
    sum_part(worker, line, total.subspan(first, count));
  }
  if (is_timed) time_ += Clock::now() - begin;
}

/// line(i): a part of that of the worker's i-th virtual worker.
template <class Line>
void ScalarReducer::sum_part(int worker, Line line, std::span<double> total) {
  Worker& self = workers_[static_cast<std::size_t>(worker)];
  const std::int64_t sum = ++self.sums;
  const Range mine = virtual_workers_.of_worker(rank_, worker);
  for (std::int64_t index = mine.first; index < mine.last; ++index)
    std::ranges::copy(line(index - mine.first), slot(index - virtual_workers_of_node_.first, sum).begin());
  const int me = first_worker_ + worker;
  arrived_[static_cast<std::size_t>(me)].store(sum);
  if (!several_nodes_) return add_slots(worker, sum, total);
  if (me > 0) {
    std::optional<Heartbeat::Waiting> waiting;
    if (worker == 0) waiting.emplace(heartbeat_, kWhat);
    wait_for(published_[0], sum);
    std::ranges::copy(result_.first(total.size()), total.begin());
    return;
  }
  // The main thread of the node's first rank, so it may communicate.
  if (virtual_workers_.exact) {
    add_over_nodes(sum, total);
  } else {
    add_slots(worker, sum, total);
    leaders_->sum(total);
  }
  std::ranges::copy(total, result_.begin());
  published_[0].store(sum);
}

void ScalarReducer::wait_for(SharedCounter& counter, std::int64_t count) const {
  pool_.wait([&] { return counter.load() >= count; }, [&] { counter.sleep_below(count); });
}

/// Only the main thread's waiting is watched; the others wait for the same.
void ScalarReducer::wait_for_all(int worker, std::int64_t sum) const {
  std::optional<Heartbeat::Waiting> waiting;
  if (worker == 0) waiting.emplace(heartbeat_, kWhat);
  for (std::size_t other = 0; other < arrived_.size(); ++other) {
    if (waiting) waiting->for_rank(first_rank_ + static_cast<int>(other) / pool_.size() * rank_step_);
    wait_for(arrived_[other], sum);
  }
}

void ScalarReducer::add_slots(int worker, std::int64_t sum, std::span<double> total) {
  wait_for_all(worker, sum);
  Worker& self = workers_[static_cast<std::size_t>(worker)];
  for (std::size_t index = 0; index < self.lines.size(); ++index)
    self.lines[index] = slot(static_cast<std::int64_t>(index), sum).data();
  double* const root = total.data();
  node_tree_.sum(self.lines, {&root, 1}, 0, std::ssize(total));
}

void ScalarReducer::add_over_nodes(std::int64_t sum, std::span<double> total) {
  constexpr int kMainThread = 0;
  wait_for_all(kMainThread, sum);
  // The lines of other nodes are 0 here, and x + 0 is x: MPI's sum only collects them.
  const std::span<double> lines =
      std::span(all_lines_).first(total.size() * static_cast<std::size_t>(virtual_workers_.count));
  const auto line = [&](std::int64_t index) {
    return lines.subspan(static_cast<std::size_t>(index) * total.size(), total.size());
  };
  std::ranges::fill(lines, 0.0);
  for (std::int64_t index = 0; index < virtual_workers_of_node_.count(); ++index)
    std::ranges::copy(slot(index, sum).first(total.size()),
                      line(virtual_workers_of_node_.first + index).begin());
  leaders_->sum(lines);
  std::array<const double*, VirtualWorkers::kMax> inputs{};
  for (int index = 0; index < virtual_workers_.count; ++index)
    inputs[static_cast<std::size_t>(index)] = line(index).data();
  double* const root = total.data();
  whole_tree_.sum(std::span(inputs).first(static_cast<std::size_t>(virtual_workers_.count)), {&root, 1}, 0,
                  std::ssize(total));
}

}  // namespace trainer
