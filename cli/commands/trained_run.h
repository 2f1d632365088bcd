#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cli/commands/open_run.h"

namespace trainer {

/// A run with weights that it has learned.
struct TrainedRun {
  OpenRun run;
  std::filesystem::path checkpoint;
  std::vector<float> values;  ///< of this rank, as Network::attach() wants them

  Session& session() const { return *run.session; }
};

/// `path`: a run directory, whose best weights count, or one of its checkpoints. Error(weights) when there
/// are none or they do not fit. Makes no collective call.
TrainedRun open_trained(const std::filesystem::path& path, const std::vector<std::string>& overrides,
                        Mesh& mesh, ThreadPool& pool);

}  // namespace trainer
