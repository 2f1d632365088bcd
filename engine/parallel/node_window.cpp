#include "engine/parallel/node_window.h"

#include <algorithm>
#include <numeric>

#include "engine/system/wait_until.h"

namespace trainer {

int NodeWindow::Layout::all_workers() const { return std::accumulate(workers.begin(), workers.end(), 0); }

std::int64_t NodeWindow::Layout::bytes() const {
  return bytes_of<float>(floats) * (1 + gradients) + bytes_of<SharedCounter>(all_workers()) +
         bytes_of<SharedCounter>(std::ssize(workers)) +
         bytes_of<double>(std::int64_t{2} * table_rows * kTableColumns);
}

NodeWindow::NodeWindow(Layout layout, std::unique_ptr<SharedMemory> memory, int my_rank, bool oversubscribed,
                       Heartbeat& heartbeat)
    : layout_(std::move(layout)),
      memory_(std::move(memory)),
      my_rank_(my_rank),
      first_worker_(std::accumulate(layout_.workers.begin(), layout_.workers.begin() + my_rank, 0)),
      oversubscribed_(oversubscribed),
      heartbeat_(heartbeat) {
  std::span<std::byte> room = memory_->bytes();
  values_ = take<float>(room, layout_.floats);
  for (int index = 0; index < layout_.gradients; ++index)
    gradients_.push_back(take<float>(room, layout_.floats).data());
  sources_.assign(gradients_.begin(), gradients_.end());
  progress_ = take<SharedCounter>(room, layout_.all_workers());
  arrived_ = take<SharedCounter>(room, std::ssize(layout_.workers));
  tables_ = take<double>(room, std::int64_t{2} * layout_.table_rows * Layout::kTableColumns);
}

void NodeWindow::count_pages() {
  const int sharers = static_cast<int>(layout_.workers.size());
  const std::span<const std::byte> all = memory_->bytes();
  const auto values = static_cast<std::size_t>(bytes_of<float>(layout_.floats));
  counted_values_.emplace(MemoryKind::parameters, all.first(values), sharers);
  counted_gradients_.emplace(MemoryKind::gradients, all.subspan(values), sharers);
}

void NodeWindow::set_progress(int worker, std::int64_t progress) const {
  progress_[static_cast<std::size_t>(worker)].store(progress);
}

bool NodeWindow::all_reached(std::int64_t progress) const {
  return std::ranges::all_of(progress_, [&](SharedCounter& counter) { return counter.load() >= progress; });
}

void NodeWindow::wait_for_progress(std::int64_t progress, int bucket) const {
  Heartbeat::Waiting waiting(heartbeat_, "the gradients", bucket);
  for (int rank = 0, worker = 0; rank < static_cast<int>(layout_.workers.size()); ++rank) {
    waiting.for_rank(world_rank(rank));
    for (int thread = 0; thread < layout_.workers[static_cast<std::size_t>(rank)]; ++thread, ++worker) {
      SharedCounter& counter = progress_[static_cast<std::size_t>(worker)];
      wait_until([&] { return counter.load() >= progress; }, oversubscribed_,
                 [&] { counter.sleep_below(progress); });
    }
  }
}

void NodeWindow::barrier(const char* what) {
  ++generation_;
  arrived_[static_cast<std::size_t>(my_rank_)].store(generation_);
  Heartbeat::Waiting waiting(heartbeat_, what);
  for (int rank = 0; rank < static_cast<int>(arrived_.size()); ++rank) {
    waiting.for_rank(world_rank(rank));
    SharedCounter& counter = arrived_[static_cast<std::size_t>(rank)];
    wait_until([&] { return counter.load() >= generation_; }, oversubscribed_,
               [&] { counter.sleep_below(generation_); });
  }
}

std::span<double> NodeWindow::table_row(int table, int row) const {
  const auto first = static_cast<std::size_t>(table * layout_.table_rows + row) * Layout::kTableColumns;
  return tables_.subspan(first, Layout::kTableColumns);
}

}  // namespace trainer
