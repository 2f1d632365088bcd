#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace trainer {

constexpr const char* kModelFile = "model.safetensors";
constexpr const char* kOptimizerFile = "optimizer.safetensors";
constexpr const char* kStateFile = "state.json";
constexpr std::uint64_t kMaxStateBytes = 24 << 20;  ///< lists of the largest size, one value a line
constexpr const char* kDataFile = "data.json";
constexpr const char* kPartialSuffix = ".partial";

/// "step-120"
std::string checkpoint_name(std::int64_t step);
/// The step of "step-120"; nothing for any other name.
std::optional<std::int64_t> checkpoint_step(const std::string& name);
/// The steps of the checkpoints in a folder, ascending.
std::vector<std::int64_t> checkpoint_steps(const std::filesystem::path& folder);
/// The checkpoint that a link in a folder points at: a step-N beside it; else empty.
std::filesystem::path link_target(const std::filesystem::path& link);
/// True for `last` and `best`.
bool is_link_name(const std::filesystem::path& path);

/// The step-N that `last` or `best` points at; any other path is returned as it is. Error(weights), with the
/// repair, if one of these links points elsewhere or a step-N is a link.
std::filesystem::path named_checkpoint(const std::filesystem::path& path);
/// The same. Error(weights) also if that step-N is missing, or if a file in it is a link.
std::filesystem::path present_checkpoint(const std::filesystem::path& path);

/// The newest checkpoint of a run's folder: `last`, or the last step-N if there is no such link. Empty if
/// there is none.
std::filesystem::path newest_checkpoint(const std::filesystem::path& folder);
/// The newest one of fewer than `step` steps; empty: there is none.
std::filesystem::path checkpoint_before(const std::filesystem::path& folder, std::int64_t step);

/// Error(failure) if the folder of checkpoints is a link.
void refuse_link(const std::filesystem::path& folder);

/// Gives a checkpoint its name back if a process was killed while it replaced it, on a file system without
/// atomic exchange. The caller holds the run directory's lock.
void restore_replaced(const std::filesystem::path& folder);

}  // namespace trainer
