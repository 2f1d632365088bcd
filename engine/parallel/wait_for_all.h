#pragma once

#include <functional>

#include "engine/parallel/communicator.h"

namespace trainer {

/// Returns once `is_done` holds on all ranks. Until then the ranks exchange signs of life, so a stopped rank
/// is found as soon as elsewhere, and slow disks may take their time. `progress`: any number that changes
/// while this rank's work proceeds. Collective.
void wait_for_all(
    Communicator& group, const char* what, const std::function<bool()>& is_done,
    const std::function<int()>& progress = [] { return 0; });

/// Where `mine`, does this rank's work with a disk; waits in this way for that of all ranks. The work has a
/// thread of its own where there are others, and may not communicate. Throws what this rank's work threw.
/// Collective.
void with_disk(Communicator& group, const char* what, bool mine, const std::function<void()>& work);

}  // namespace trainer
