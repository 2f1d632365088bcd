#include "datasets/readers/byte_stream.h"

#include "engine/core/error.h"

namespace trainer {

void ByteStream::fail(const std::string& what, const std::string& expected) const {
  throw Error(ExitCode::data, {Diagnostic{.what = what, .place = place(), .notes = {expected}}});
}

}  // namespace trainer
