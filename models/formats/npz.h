#pragma once

#include <span>
#include <string>

#include "models/formats/safetensors.h"

namespace trainer {

/// A file that numpy.load() reads: a zip archive (APPNOTE 6.3.3) that stores each tensor as NAME.npy (format
/// version 1.0, float32). Equal arguments give equal bytes. Error(usage) from 4 GiB on.
std::string npz_file(std::span<const NamedTensor> tensors);

}  // namespace trainer
