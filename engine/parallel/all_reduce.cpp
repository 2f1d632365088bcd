#include "engine/parallel/all_reduce.h"

#include <algorithm>

namespace trainer {
namespace {

constexpr auto kColumns = static_cast<std::size_t>(NodeWindow::Layout::kTableColumns);

}  // namespace

AllReduce::AllReduce(Mesh& mesh, ParameterWindow& window, ParameterWindow* other)
    : data_(mesh.data()),
      memory_(window),
      other_(other),
      rows_(static_cast<std::size_t>(mesh.data().size()) * kColumns) {}

void AllReduce::barrier() {
  sum({});
  if (other_) other_->window().barrier("the barrier of all ranks of a node");
}

void AllReduce::sum(std::span<double> scalars, std::size_t maxima) {
  const NodeWindow& window = memory_.window();
  do {
    const std::size_t count = std::min(scalars.size(), kColumns);
    const std::span<double> part = scalars.first(count);
    scalars = scalars.subspan(count);
    const std::size_t maxima_here = std::min(maxima - std::min(maxima, scalars.size()), count);
    const std::size_t added = count - maxima_here;
    table_ = 1 - table_;
    std::ranges::copy(part, window.table_row(table_, data_.rank()).begin());
    exchange(count);
    std::ranges::copy(window.table_row(table_, 0).first(count), part.begin());
    for (int row = 1; row < data_.size(); ++row) {
      const std::span<double> others = window.table_row(table_, row);
      for (std::size_t i = 0; i < added; ++i) part[i] += others[i];
      for (std::size_t i = added; i < count; ++i) part[i] = std::max(part[i], others[i]);
    }
  } while (!scalars.empty());
}

/// Fills the rows of the table for all data ranks.
void AllReduce::exchange(std::size_t count) {
  memory_.window().barrier("the barrier before the update");
  if (!memory_.plan().several_nodes()) return;
  if (memory_.sharer() == 0) collect_rows(count);
  memory_.window().barrier("the second barrier before the update");
}

/// All rows but those of this node are 0, and x + 0 is x: the sum over nodes only collects rows.
void AllReduce::collect_rows(std::size_t count) {
  const NodeWindow& window = memory_.window();
  Communicator& lane = memory_.plan().lane();
  const std::span<double> rows = std::span(rows_).first(static_cast<std::size_t>(data_.size()) * count);
  const auto row_of = [&](int rank) { return rows.subspan(static_cast<std::size_t>(rank) * count, count); };
  std::ranges::fill(rows, 0.0);
  for (int rank = data_.rank(); rank < data_.rank() + memory_.sharers(); ++rank)
    std::ranges::copy(window.table_row(table_, rank).first(count), row_of(rank).begin());
  if (rows.empty()) lane.barrier();
  lane.sum(rows);
  for (int rank = 0; rank < data_.size(); ++rank)
    std::ranges::copy(row_of(rank), window.table_row(table_, rank).begin());
}

}  // namespace trainer
