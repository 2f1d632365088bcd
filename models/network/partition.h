#pragma once

#include "models/layers/sequence.h"
#include "models/network/exchange.h"

namespace trainer {

/// Cuts the dense layers of a network, before its setup, over the ranks of `group`: by output units, and
/// where another dense layer follows and it moves fewer bytes, that one by inputs. All other layers are
/// computed by every rank in full. `exact`: a group of one, too, sums over the tiles of units that a larger
/// group distributes, so that every group has the same bits.
void cut_dense_layers(Sequence& layers, ModelGroup& group, bool exact);

}  // namespace trainer
