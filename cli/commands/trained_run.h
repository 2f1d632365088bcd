#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cli/commands/open_run.h"

namespace trainer {

/// A run with the weights of one of its checkpoints.
struct TrainedRun {
  OpenRun run;
  std::filesystem::path checkpoint;
  std::vector<float> values;  ///< of this rank's parameters, in the order of Network::attach()

  Session& session() const { return *run.session; }
};

/// `path`: a run directory, for its best weights, or one of its checkpoints. Error(weights) if there are none
/// or if they do not fit. Makes no collective call.
TrainedRun open_trained(const std::filesystem::path& path, const std::vector<std::string>& overrides,
                        Mesh& mesh, ThreadPool& pool);

}  // namespace trainer
