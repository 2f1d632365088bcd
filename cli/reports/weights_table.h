#pragma once

#include <string>

#include "models/checkpoints/imported_weights.h"

namespace trainer {

/// A line for each layer: its name here and in the file, and the shapes of its tensors; then what keeps its
/// initial values, and what of the file is not used.
std::string weights_table(const std::string& file, const WeightMatch& match);

}  // namespace trainer
