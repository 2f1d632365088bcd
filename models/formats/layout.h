#pragma once

#include <span>
#include <vector>

#include "engine/core/shape.h"

namespace trainer {

/// The layout of a parameter in files, which have PyTorch's order.
enum class FileLayout {
  as_in_memory,
  dense,        ///< memory (in, out), file (out, in)
  convolution,  ///< memory (kernel_h, kernel_w, in, out), file (out, in, kernel_h, kernel_w); or one kernel
                ///< extent
};

/// The shape in a file of a whole parameter of this memory shape.
Shape file_shape(FileLayout layout, const Shape& memory_shape);
std::vector<float> to_file_layout(FileLayout layout, const Shape& memory_shape,
                                  std::span<const float> memory);
std::vector<float> to_memory_layout(FileLayout layout, const Shape& memory_shape,
                                    std::span<const float> file);

}  // namespace trainer
