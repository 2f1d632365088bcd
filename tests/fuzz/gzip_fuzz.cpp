// A data file, plain or packed, without its format.
#include <algorithm>
#include <array>

#include "datasets/readers/byte_reader.h"
#include "tests/fuzz/memory_file.h"
#include "tests/fuzz/target.h"

namespace trainer {
namespace {

const FuzzTarget target{
    "gzip", [](FuzzInput input) {
      static MemoryFile file;
      file.hold(input);
      ByteReader reader(file.path());
      std::array<std::uint8_t, 1 << 14> bytes;
      for (std::int64_t left = reader.size(); left > 0; left -= std::ssize(bytes))
        reader.read(std::span(bytes).first(static_cast<std::size_t>(std::min(left, std::ssize(bytes)))));
      reader.finish();
      reader.fingerprint();
    }};

}  // namespace
}  // namespace trainer
