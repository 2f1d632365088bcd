#pragma once

#include "models/network/exchange.h"
#include "models/network/sequence.h"

namespace trainer {

/// Cuts the dense layers of a network, before its setup, over the ranks of `group`: by output units, and
/// where another dense layer follows and it moves fewer bytes, that one by inputs. All other layers are
/// computed by every rank in full.
void cut_dense_layers(Sequence& layers, ModelGroup& group);

}  // namespace trainer
