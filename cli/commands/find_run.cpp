#include "cli/commands/find_run.h"

#include <fmt/format.h>

#include "engine/core/error.h"
#include "models/checkpoints/checkpoint.h"

namespace trainer {

namespace fs = std::filesystem;

FoundRun find_run(const fs::path& path) {
  std::error_code ignored;
  const char* const help = "runs/NAME, or a directory in its checkpoints";
  if (!fs::is_directory(path, ignored)) {
    present_checkpoint(path);  // a link that leads nowhere has a message of its own
    throw Error(ExitCode::usage, fmt::format("{} is not a run directory", path.string()), help);
  }
  if (fs::is_regular_file(path / "config.yaml", ignored)) return {.run = path};
  if (!fs::is_regular_file(path / "model.safetensors", ignored))
    throw Error(ExitCode::usage,
                fmt::format("{} holds neither config.yaml nor model.safetensors", path.string()), help);
  // runs/NAME/checkpoints/step-469
  const fs::path checkpoint = (path / "").lexically_normal().parent_path();
  const fs::path whole = fs::absolute(checkpoint, ignored);
  const bool is_inside = checkpoint.has_parent_path() && checkpoint.parent_path().has_parent_path();
  return {.run = (is_inside ? checkpoint : whole).parent_path().parent_path(), .checkpoint = checkpoint};
}

}  // namespace trainer
