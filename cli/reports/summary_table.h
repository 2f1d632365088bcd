#pragma once

#include <string>

#include "models/network/network.h"

namespace trainer {

/// The layers of a network, those inside of others indented: kernel, output of a sample, parameters of the
/// whole layer, whether they train, and the operations of one sample's forward pass; then the totals.
std::string summary_table(const Network& network);

}  // namespace trainer
