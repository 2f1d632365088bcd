#pragma once

#include <cstdint>
#include <vector>

#include "engine/parallel/compression.h"
#include "models/network/network_plan.h"

namespace trainer {

/// A message of all ranks to all that error feedback takes after backward, as one buffer.
struct CompressedMessage {
  const char* what = "";
  std::int64_t bytes = 0;
  bool is_all_reduce = false;  ///< else each rank sends each other one its part
};

/// Those of a step in which so many arrays are added, one of each rank, in their order; none without error
/// feedback.
std::vector<CompressedMessage> compressed_messages(const Compression& compression, const NetworkPlan& plan,
                                                   std::int64_t arrays);

}  // namespace trainer
