#pragma once

#include "models/network/exchange.h"
#include "models/network/sequence.h"

namespace trainer {

/// Cuts the dense layers of a network, before its setup, over the ranks of `group`: by output units, and
/// where another dense layer follows and it moves fewer bytes, that one by inputs. All other layers are
/// computed by every rank in full. `exact`: also a group of one sums over the blocks of units that a larger
/// group would share out, so that every group gets the same bits.
void cut_dense_layers(Sequence& layers, ModelGroup& group, bool exact);

}  // namespace trainer
