#include "models/formats/layout.h"

#include <algorithm>
#include <cassert>

namespace trainer {
namespace {

/// Both layouts transpose (rows, columns) to (columns, rows): dense (in, out), convolution (kernel_h
/// kernel_w, in, out), whose file order turns around all three groups of extents but keeps the kernel's own
/// order. A kernel along time has one extent.
struct Extents {
  std::int64_t kernel, in, out;
};

Extents extents_of(FileLayout layout, const Shape& shape) {
  if (layout == FileLayout::dense) return {1, shape[0], shape[1]};
  if (shape.rank() == 3) return {shape[0], shape[1], shape[2]};
  return {shape[0] * shape[1], shape[2], shape[3]};
}

/// visit(memory position, file position) for every element, in tiles whose lines stay in the cache on both
/// sides.
template <class Visit>
void for_each(FileLayout layout, const Shape& shape, Visit visit) {
  const auto [kernel, in, out] = extents_of(layout, shape);
  constexpr std::int64_t kSquare = 32;
  for (std::int64_t k = 0; k < kernel; ++k)
    for (std::int64_t first_i = 0; first_i < in; first_i += kSquare)
      for (std::int64_t first_o = 0; first_o < out; first_o += kSquare)
        for (std::int64_t o = first_o; o < std::min(first_o + kSquare, out); ++o)
          for (std::int64_t i = first_i; i < std::min(first_i + kSquare, in); ++i)
            visit((k * in + i) * out + o, (o * in + i) * kernel + k);
}

}  // namespace

Shape file_shape(FileLayout layout, const Shape& shape) {
  if (layout == FileLayout::as_in_memory) return shape;
  if (layout == FileLayout::dense) return {shape[1], shape[0]};
  if (shape.rank() == 3) return {shape[2], shape[1], shape[0]};
  return {shape[3], shape[2], shape[0], shape[1]};
}

std::vector<float> to_file_layout(FileLayout layout, const Shape& shape, std::span<const float> memory) {
  assert(static_cast<std::int64_t>(memory.size()) == shape.size());
  if (layout == FileLayout::as_in_memory) return {memory.begin(), memory.end()};
  std::vector<float> file(memory.size());
  for_each(layout, shape, [&](std::int64_t from, std::int64_t to) {
    file[static_cast<std::size_t>(to)] = memory[static_cast<std::size_t>(from)];
  });
  return file;
}

std::vector<float> to_memory_layout(FileLayout layout, const Shape& shape, std::span<const float> file) {
  assert(static_cast<std::int64_t>(file.size()) == shape.size());
  if (layout == FileLayout::as_in_memory) return {file.begin(), file.end()};
  std::vector<float> memory(file.size());
  for_each(layout, shape, [&](std::int64_t to, std::int64_t from) {
    memory[static_cast<std::size_t>(to)] = file[static_cast<std::size_t>(from)];
  });
  return memory;
}

}  // namespace trainer
