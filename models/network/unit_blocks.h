#pragma once

#include <cstdint>
#include <memory>

#include "models/layers/block_sum.h"
#include "models/network/exchange.h"

namespace trainer {

/// The sum over the units of a layer of this width, in the blocks of ModelGroup::unit_borders().
std::unique_ptr<BlockSum> make_unit_sum(ModelGroup& group, std::int64_t width);

}  // namespace trainer
