#include "engine/parallel/compression.h"

namespace trainer {

std::string Compression::text() const {
  switch (method) {
    case Method::none:
      return "";
    case Method::bf16:
      return "bf16";
    case Method::one_bit:
      return "one_bit";
    case Method::powersgd:
      return "powersgd rank " + std::to_string(rank);
  }
  return "";
}

}  // namespace trainer
