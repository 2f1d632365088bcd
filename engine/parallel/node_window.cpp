#include "engine/parallel/node_window.h"

#include <algorithm>
#include <atomic>
#include <numeric>

#include "engine/core/wait_until.h"

namespace trainer {
namespace {

constexpr std::int64_t kLine = 64;

/// Bytes of `count` elements, rounded up to whole cache lines.
template <class T>
std::int64_t bytes_of(std::int64_t count) {
  return (count * static_cast<std::int64_t>(sizeof(T)) + kLine - 1) / kLine * kLine;
}

/// Cuts the next `count` elements off the front of `room`.
template <class T>
std::span<T> take(std::span<std::byte>& room, std::int64_t count) {
  const std::span<T> taken(reinterpret_cast<T*>(room.data()), static_cast<std::size_t>(count));
  room = room.subspan(static_cast<std::size_t>(bytes_of<T>(count)));
  return taken;
}

// Atomic operations on plain memory: the window belongs to several processes, none of which constructs
// objects in it.
void store(std::int64_t& target, std::int64_t value) {
  std::atomic_ref(target).store(value, std::memory_order_release);
}
std::int64_t load(std::int64_t& source) { return std::atomic_ref(source).load(std::memory_order_acquire); }

}  // namespace

int NodeWindow::Layout::all_workers() const { return std::accumulate(workers.begin(), workers.end(), 0); }

std::int64_t NodeWindow::Layout::bytes() const {
  return bytes_of<float>(floats) * (1 + all_workers()) + bytes_of<Line>(all_workers()) +
         bytes_of<Line>(std::ssize(workers)) + bytes_of<double>(std::int64_t{2} * table_rows * kTableColumns);
}

NodeWindow::NodeWindow(Layout layout, std::unique_ptr<SharedMemory> memory, int my_rank, bool crowded)
    : layout_(std::move(layout)),
      memory_(std::move(memory)),
      my_rank_(my_rank),
      first_worker_(std::accumulate(layout_.workers.begin(), layout_.workers.begin() + my_rank, 0)),
      crowded_(crowded) {
  std::span<std::byte> room = memory_->bytes();
  values_ = take<float>(room, layout_.floats);
  for (int worker = 0; worker < layout_.all_workers(); ++worker)
    gradients_.push_back(take<float>(room, layout_.floats).data());
  sources_.assign(gradients_.begin(), gradients_.end());
  progress_ = take<Line>(room, layout_.all_workers());
  arrived_ = take<Line>(room, std::ssize(layout_.workers));
  tables_ = take<double>(room, std::int64_t{2} * layout_.table_rows * Layout::kTableColumns);
}

void NodeWindow::set_progress(int worker, std::int64_t progress) const {
  store(progress_[static_cast<std::size_t>(worker)].value, progress);
}

bool NodeWindow::all_reached(std::int64_t progress) const {
  return std::ranges::all_of(progress_, [&](Line& line) { return load(line.value) >= progress; });
}

void NodeWindow::barrier() {
  ++generation_;
  store(arrived_[static_cast<std::size_t>(my_rank_)].value, generation_);
  for (Line& line : arrived_) wait_until([&] { return load(line.value) >= generation_; }, crowded_);
}

std::span<double> NodeWindow::table_row(int table, int row) const {
  const auto first = static_cast<std::size_t>(table * layout_.table_rows + row) * Layout::kTableColumns;
  return tables_.subspan(first, Layout::kTableColumns);
}

}  // namespace trainer
