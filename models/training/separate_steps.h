#pragma once

#include "engine/config/config.h"
#include "models/training/settings.h"

namespace trainer {

// Training whose ranks take no steps together. Both functions refuse keys of `train` that need such steps;
// `settings` has these keys.

/// Virtual workers of exact mode and of local SGD, by default.
inline constexpr int kVirtualWorkers = 8;

/// Reads `train.local`.
LocalSettings local_settings(const Config& train, const TrainSettings& settings);

/// Reads `train.async`.
AsyncSettings async_settings(const Config& train, const TrainSettings& settings);

}  // namespace trainer
