#pragma once

#include <memory>

#include "models/layers/layer.h"

namespace trainer {

/// The flatten that a sequence puts before a dense layer which follows a map.
std::unique_ptr<Layer> make_flatten();

}  // namespace trainer
