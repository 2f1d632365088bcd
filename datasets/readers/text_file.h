#pragma once

#include <string>

#include "datasets/readers/byte_reader.h"

namespace trainer {

/// Error(data) if a packed file unpacks to far more than text does: a few megabytes could fill the memory of
/// the host.
void check_unpacked_size(const ByteReader& file);

/// All of a text. Error(data) if the file is damaged, or packed and too large.
std::string content_of(ByteReader& file);

}  // namespace trainer
