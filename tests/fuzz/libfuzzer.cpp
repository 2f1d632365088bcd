// What libFuzzer calls: the one target that is linked with it.
#include <cstddef>

#include "tests/fuzz/target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  (*trainer::FuzzTarget::all().front())({bytes, size});
  return 0;
}
