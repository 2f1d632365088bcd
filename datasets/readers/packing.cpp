#include "datasets/readers/packing.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace trainer {

Packing pack_documents(std::span<const std::int64_t> lengths, std::int64_t room) {
  std::vector<std::int64_t> order(lengths.size()), row_of(lengths.size());
  std::iota(order.begin(), order.end(), std::int64_t{0});
  std::ranges::stable_sort(order, std::greater(), [&](std::int64_t document) { return lengths[document]; });
  std::map<std::int64_t, std::vector<std::int64_t>> by_room;
  std::int64_t rows = 0;
  for (const std::int64_t document : order) {
    std::int64_t left = room, row = rows;
    if (const auto fit = by_room.lower_bound(lengths[document]); fit != by_room.end()) {
      left = fit->first;
      row = fit->second.back();
      fit->second.pop_back();
      if (fit->second.empty()) by_room.erase(fit);
    } else {
      ++rows;
    }
    row_of[document] = row;
    if (left > lengths[document]) by_room[left - lengths[document]].push_back(row);
  }

  std::vector<std::int64_t> index_of(rows, -1), counts;  // of rows, by their first documents
  for (std::int64_t& row : row_of) {
    if (index_of[row] < 0) {
      index_of[row] = std::ssize(counts);
      counts.push_back(0);
    }
    row = index_of[row];
    ++counts[row];
  }
  Packing packing;
  for (const std::int64_t count : counts) packing.begins.push_back(packing.begins.back() + count);
  packing.documents.resize(lengths.size());
  std::vector<std::int64_t> next(packing.begins.begin(), packing.begins.end() - 1);
  for (std::int64_t document = 0; document < std::ssize(lengths); ++document)
    packing.documents[next[row_of[document]]++] = document;
  return packing;
}

}  // namespace trainer
