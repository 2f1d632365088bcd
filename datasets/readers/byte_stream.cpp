#include "datasets/readers/byte_stream.h"

#include <stdexcept>

#include "engine/core/error.h"

namespace trainer {

void ByteStream::fail(const std::string& what, const std::string& expected) const {
  throw Error(ExitCode::data, {Diagnostic{.what = what, .place = place(), .notes = {expected}}});
}

void ByteStream::read_at(std::int64_t, std::span<std::uint8_t>) const {
  throw std::logic_error("a stream is read front to back");
}

}  // namespace trainer
