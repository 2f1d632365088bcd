#pragma once

#include <string>

#include "engine/parallel/communicator.h"

namespace trainer {

/// Rank 0's text on all ranks, whatever its length. Collective.
void broadcast_text(Communicator& group, std::string& text);

}  // namespace trainer
