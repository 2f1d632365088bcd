#pragma once

#include <vector>

#include "engine/parallel/compressed_parameter.h"
#include "engine/parallel/compression.h"
#include "models/network/network.h"

namespace trainer {

/// The parameters of a network for a method with error feedback. PowerSGD's factors and the momentum of
/// one_bit are states of the network.
std::vector<CompressedParameter> compressed_parameters(Network& network, const Compression& compression);

}  // namespace trainer
