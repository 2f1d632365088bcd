#pragma once

#include "engine/config/config.h"
#include "engine/config/setting.h"
#include "engine/math/types/activation.h"

namespace trainer {

/// The key `activation` of layers that can fuse one.
Setting activation_setting();
Activation activation_of(const Config& config);

}  // namespace trainer
