#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace trainer {

/// Which documents share a row: row r holds documents[begins[r]] to documents[begins[r + 1] - 1].
struct Packing {
  std::vector<std::int64_t> documents, begins{0};

  std::int64_t rows() const { return std::ssize(begins) - 1; }
  std::span<const std::int64_t> row(std::int64_t index) const {
    return std::span(documents).subspan(begins[index], begins[index + 1] - begins[index]);
  }
};

/// Packs documents of these lengths, each at most `room`, into rows of `room`: the longest first, each into
/// the fullest row that has room for it (best-fit decreasing; Ding et al. 2024, arXiv:2404.10830). Rows come
/// in the order of their first documents, and documents of a row in their own order.
Packing pack_documents(std::span<const std::int64_t> lengths, std::int64_t room);

}  // namespace trainer
