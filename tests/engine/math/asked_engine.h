#pragma once

#include <cstdlib>
#include <string_view>

namespace trainer {

/// Whether the environment asks for OpenBLAS, which has no products of bfloat16 and is never portable.
inline bool openblas_is_asked() {
  const char* engine = std::getenv("TRAINER_ENGINE");
  return engine && std::string_view(engine) == "openblas";
}

}  // namespace trainer
