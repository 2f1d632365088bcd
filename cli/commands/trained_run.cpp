#include "cli/commands/trained_run.h"

#include <fmt/format.h>

#include "cli/commands/find_run.h"
#include "cli/terminal/shell_line.h"
#include "models/checkpoints/checkpoint.h"
#include "models/checkpoints/weights.h"

namespace trainer {
namespace {

namespace fs = std::filesystem;

fs::path find_checkpoint(const fs::path& path, const FoundRun& found) {
  if (!found.checkpoint.empty()) {
    present_checkpoint(found.checkpoint);
    return found.checkpoint;
  }
  std::error_code ignored;
  const fs::path folder = path / "checkpoints", best = folder / "best";
  const fs::path checkpoint =
      fs::exists(fs::symlink_status(best, ignored)) ? best : newest_checkpoint(folder);
  if (!checkpoint.empty()) {
    present_checkpoint(checkpoint);
    return checkpoint;
  }
  throw Error(ExitCode::weights, fmt::format("{} has no checkpoint", path.string()),
              "train it: trainer " + shell_line({path.string()}));
}

}  // namespace

TrainedRun open_trained(const fs::path& path, const std::vector<std::string>& overrides, Mesh& mesh,
                        ThreadPool& pool) {
  const FoundRun found = find_run(path);
  const fs::path checkpoint = find_checkpoint(path, found);
  TrainedRun trained{
      .run = open_run({.file = (found.run / "config.yaml").string(), .overrides = overrides}, mesh, pool),
      .checkpoint = checkpoint};
  Network& network = trained.session().network();
  trained.values.resize(static_cast<std::size_t>(network.plan().parameter_end()));
  if (fs::exists(checkpoint / "state.json")) verify_checkpoint(checkpoint);
  load_weights((checkpoint / "model.safetensors").string(), network.plan(), trained.values, network.states());
  return trained;
}

}  // namespace trainer
