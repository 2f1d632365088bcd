#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands/open_run.h"
#include "models/checkpoints/checkpoint.h"

namespace trainer {

/// A checkpoint that a user's path leads to, its files checked.
struct TrainedCheckpoint {
  std::filesystem::path path;
  ConfigSource config;
  std::string fingerprint;              ///< of the training data; empty if it is unknown
  std::optional<DataDescription> data;  ///< nothing: earlier programs kept none
};

/// `path`: a run directory, for its best weights, or one of its checkpoints, wherever it lies.
/// Error(weights) if there is none or if it is damaged.
TrainedCheckpoint find_trained(const std::filesystem::path& path, const std::vector<std::string>& overrides);

/// A run with the weights of one of its checkpoints.
struct TrainedRun {
  OpenRun run;
  std::filesystem::path checkpoint;
  std::vector<float> values;  ///< of this rank's parameters, in the order of Network::attach()

  Session& session() const { return *run.session; }
};
/// The tensors of its checkpoint, adapters merged into their weights.
std::vector<NamedTensor> merged_tensors(const TrainedRun& trained);

/// A run for the use of its weights alone: its data is absent where the checkpoint describes it, else opened.
/// Files `given` by the user become its test split. Error(weights) if the weights do not fit the model. Makes
/// no collective call.
TrainedRun open_trained(const TrainedCheckpoint& trained, const std::vector<std::string>& given, Mesh& mesh,
                        ThreadPool& pool);
/// The same for the checkpoint that a path leads to.
TrainedRun open_trained(const std::filesystem::path& path, const std::vector<std::string>& overrides,
                        Mesh& mesh, ThreadPool& pool);
/// The same with its data. Error(data) if the data is not what the run learned from.
TrainedRun open_trained_with_data(const TrainedCheckpoint& trained, Mesh& mesh, ThreadPool& pool);

}  // namespace trainer
