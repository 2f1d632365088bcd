#pragma once

#include <string>

#include "engine/core/shape.h"

namespace trainer {

/// What comes before the elements of an array, in C order, in a .npy file of version 1.0 (numpy.lib.format).
/// `type`: "<f4" for little-endian floats.
std::string npy_header(const std::string& type, const Shape& shape);

}  // namespace trainer
