#pragma once

// In place of OpenBLAS, which portable runs do not call.

#include <cstdlib>

using blasint = int;
enum CBLAS_ORDER { CblasRowMajor };
enum CBLAS_TRANSPOSE { CblasNoTrans, CblasTrans };

inline int openblas_get_parallel() { return 1; }
inline const char* openblas_get_config() { return "OpenBLAS none"; }
inline const char* openblas_get_corename() { return "none"; }
inline void openblas_set_num_threads(int) {}
template <class... Arguments>
void cblas_sgemm(Arguments...) {
  std::abort();
}
