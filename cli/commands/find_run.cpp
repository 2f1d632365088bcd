#include "cli/commands/find_run.h"

#include <fmt/format.h>

#include "cli/search/search_folder.h"
#include "cli/terminal/folder_path.h"
#include "engine/core/error.h"
#include "models/checkpoints/checkpoint_paths.h"

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
  if (fs::is_regular_file(path / "config.json", ignored))
    throw Error(
        ExitCode::usage, fmt::format("{} is a directory of Hugging Face, not of a run", path.string()),
        fmt::format("a configuration with `model.weights: {{file: {0}}}`; `trainer new gpt TEXT --from {0}` "
                    "prints one for GPT-2 and Llama",
                    path.string()));
  if (SearchFolder::is_one(path))
    throw Error(ExitCode::usage, fmt::format("{} is the directory of a search, not of a run", path.string()),
                fmt::format("one of its runs, such as {}", (path / "trials/001").string()));
  if (!fs::is_regular_file(path / "model.safetensors", ignored))
    throw Error(ExitCode::usage,
                fmt::format("{} holds neither config.yaml nor model.safetensors", path.string()), help);
  // runs/NAME/checkpoints/step-469
  const fs::path whole = without_slash(fs::absolute(path, ignored)), given = without_slash(path);
  // `.` and `..` have no name, and no run before it.
  const fs::path checkpoint = given == "." || *given.begin() == ".." ? whole : given;
  const bool is_inside = checkpoint.has_parent_path() && checkpoint.parent_path().has_parent_path();
  return {.run = (is_inside ? checkpoint : whole).parent_path().parent_path(), .checkpoint = checkpoint};
}

fs::path run_directory_of(const fs::path& path) {
  const fs::path run = find_run(path).run;
  std::error_code ignored;
  if (!fs::is_regular_file(run / "config.yaml", ignored))
    throw Error(ExitCode::usage, fmt::format("{} lies in no run directory", path.string()), "runs/NAME");
  return run;
}

}  // namespace trainer
