#pragma once

#include <string>
#include <vector>

#include "engine/config/setting.h"

namespace trainer {

/// The paths of all keys that `-s` takes, in the order of declaration: "train.epochs",
/// "train.optimizer.sgd.lr"; of lists and layers only the beginning, "model.layers[".
std::vector<std::string> key_paths(const std::vector<Setting>& root);

}  // namespace trainer
