#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "datasets/loading/data_description.h"
#include "engine/core/error.h"
#include "models/checkpoints/checkpoint_paths.h"
#include "models/checkpoints/checkpoint_state.h"
#include "models/formats/safetensors.h"

namespace trainer {

/// A checkpoint's contents: whole tensors in file layout, and the state.
struct Checkpoint {
  std::vector<NamedTensor> model;
  /// "conv1.weight.momentum", and layers' states of training: "lstm1.kept"
  std::vector<NamedTensor> optimizer;
  CheckpointState state;
};

/// Reads the checkpoint in a directory. Error(weights) if a file is missing or damaged; the help names the
/// checkpoint before it, if there is one.
Checkpoint read_checkpoint(const std::filesystem::path& directory);
/// The data that a checkpoint was trained on; nothing if it is of an earlier program, which kept no
/// data.json. Error(weights) if the file is damaged. verify_checkpoint() has compared its checksum.
std::optional<DataDescription> read_data_description(const std::filesystem::path& directory);
/// The same checks, without reading the tensors.
CheckpointState verify_checkpoint(const std::filesystem::path& directory);
/// How the data of the checkpoint there, whose fingerprint is `then`, differs from `data`, a line each.
std::vector<std::string> differences_of_data(const std::filesystem::path& directory, const std::string& then,
                                             const Data& data);
/// Error(data) if the loaded samples are not those of the checkpoint there.
void check_samples(const std::filesystem::path& directory, const Data& data);

/// Error(weights) for a fault in its state.json, with the help of read_checkpoint().
Error damaged_state(const std::filesystem::path& directory, const std::string& what);

/// The step of the checkpoint behind `last` or `best`; -1 if it is unknown. A copy that followed links has a
/// directory there.
std::int64_t step_behind(const std::filesystem::path& link);

/// Size and checksum of a file.
FileSeal seal_of(const std::filesystem::path& path);

}  // namespace trainer
