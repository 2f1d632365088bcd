#pragma once

#include <string>

namespace trainer {

/// A short commented config of a kind of `trainer new` that fits the data that are shown (data_section()):
/// their form decides layers, loss and metrics, their number the batch and the epochs. Error(data) or
/// Error(usage) if the data cannot be trained on.
std::string new_config(const std::string& kind, const std::string& shown);

}  // namespace trainer
