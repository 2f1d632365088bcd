#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/math/gemm.h"

namespace trainer {

/// What gemm() multiplies, apart from the elements.
struct ProductShape {
  Transpose a_transposed = Transpose::no, b_transposed = Transpose::no;
  std::int64_t m = 0, n = 0, k = 0;

  // clang-tidy 14 takes the 0 of a comparison for a pointer.
  auto operator<=>(const ProductShape&) const = default;  // NOLINT(modernize-use-nullptr)
};

/// "A^T B"
std::string factors_text(const ProductShape& shape);
/// "A^T B,784,100,128"
std::string shape_text(const ProductShape& shape);

/// The faster engine of each shape, as measured: the file of `trainer time --engines`.
struct EngineTable {
  struct Row {
    ProductShape shape;
    double native_us = 0, openblas_us = 0;
    bool by_openblas = false;
  };
  std::vector<Row> rows;

  std::vector<ProductShape> of_openblas() const;
  /// The file: a comment with `processor` and with the kernels that measured, then comma-separated lines.
  std::string text(const std::string& processor) const;
};

/// The kernels of both engines here: "AVX-512, OpenBLAS 0.3.21 Cooperlake".
std::string engine_kernels();

/// Reads text(). Error(usage) with the line, in the file `name`, if it is damaged or was measured with other
/// kernels.
EngineTable parse_engine_table(std::string_view text, const std::string& name);

}  // namespace trainer
