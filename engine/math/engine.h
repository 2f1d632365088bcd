#pragma once

#include <string>
#include <vector>

#include "engine/math/engine_table.h"

namespace trainer {

/// The library for matrix products. All other kernels are the program's own, for the CPU's best instruction
/// set.
enum class Engine {
  automatic,  ///< native with AVX2 and above, or if OpenBLAS is its serial build; else openblas
  native,     ///< engine/math/kernels/gemm.cpp
  openblas
};

/// Call before the first product, from one thread; without a call the choice is automatic. The environment
/// variable TRAINER_ENGINE=native|openblas replaces `automatic`, for tests that no flag reaches. Error(usage)
/// if OpenBLAS is its serial build, which threads may not call at once, or if the variable has another value.
void choose_engine(Engine engine);
/// The native engine, and OpenBLAS for products of these shapes, as gemm_is_chained() false cuts them.
/// Error(usage) as for Engine::openblas.
void choose_engine_by_shape(std::vector<ProductShape> of_openblas);
/// The engine in use: native or openblas; by shape native.
Engine engine_in_use();
/// Whether OpenBLAS serves some shapes beside the native engine.
bool engine_goes_by_shape();
/// Whether OpenBLAS computes the products of this shape.
bool openblas_computes(const ProductShape& shape);

/// Makes products, and all that the kernels compute, the same bits on every processor: `automatic` is then
/// native. Call before layers are made, from one thread. Error(usage) if OpenBLAS was chosen by name.
void choose_portable(bool portable);

/// "native (AVX2)" or "openblas (OpenBLAS 0.3.21 Zen, AVX2)": the engine in use, its products, its kernels.
/// By shape "table 1c0b7e55d2f3a9c1 (AVX2, OpenBLAS 0.3.21 Zen)", with a hash of the shapes of OpenBLAS.
std::string engine_text();
/// On what the bits of a result depend, beside the program, the model, its settings and its data: the same
/// text, or "native (portable)".
std::string rounding_text();

struct EngineInfo {
  std::string name;     ///< as --engine takes it
  std::string kernels;  ///< "AVX2", "OpenBLAS 0.3.21 Zen"; or why this machine cannot use it
  bool in_use = false;
};
std::vector<EngineInfo> engines();

}  // namespace trainer
