#include "cli/commands/trained_run.h"

#include <fmt/format.h>

#include "cli/commands/find_run.h"
#include "cli/terminal/shell_line.h"
#include "models/checkpoints/weights.h"
#include "models/exporting/merged_weights.h"

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
  std::error_code problem;
  const fs::directory_iterator readable(folder, problem);
  if (problem && problem != std::errc::no_such_file_or_directory)
    throw Error(ExitCode::weights, fmt::format("cannot read {}: {}", folder.string(), problem.message()));
  throw Error(ExitCode::weights, fmt::format("{} has no checkpoint", path.string()),
              "train it: trainer " + shell_line({path.string(), "-s", "train.checkpoint=epoch"}));
}

TrainedRun with_weights(OpenRun run, const fs::path& checkpoint) {
  TrainedRun trained{.run = std::move(run), .checkpoint = checkpoint};
  Network& network = trained.session().network();
  trained.values.resize(static_cast<std::size_t>(network.plan().parameter_end()));
  load_weights((checkpoint / kModelFile).string(), network.plan(), trained.values, network.states());
  return trained;
}

/// Opens the training data, or explains what can be done without it.
OpenRun open_with_data(const TrainedCheckpoint& trained, Mesh& mesh, ThreadPool& pool) {
  try {
    return open_run(trained.config, mesh, pool, "", trained.data ? &*trained.data : nullptr);
  } catch (const Error& error) {
    if (error.code() != ExitCode::data) throw;
    std::vector<Diagnostic> diagnostics = error.diagnostics();
    Diagnostic& first = diagnostics.front();
    if (trained.data)
      first.help += std::string(first.help.empty() ? "" : "; ") + "--data FILES evaluates on other samples";
    else
      first.notes.push_back(fmt::format("{} lacks {}: an earlier program made it, so its data is needed",
                                        trained.path.string(), kDataFile));
    throw Error(error.code(), std::move(diagnostics));
  }
}

void check_fingerprint(const TrainedCheckpoint& trained, const Data& data) {
  if (trained.fingerprint.empty() || trained.fingerprint == fingerprint_text(data)) return;
  throw Error(ExitCode::data,
              {Diagnostic{.what = "the data is not what the run learned from",
                          .place = trained.path.string(),
                          .notes = differences_of_data(trained.path, trained.fingerprint, data),
                          .help = "--data FILES evaluates on other samples"}});
}

}  // namespace

TrainedCheckpoint find_trained(const fs::path& path, const std::vector<std::string>& overrides) {
  const FoundRun found = find_run(path);
  TrainedCheckpoint trained{.path = find_checkpoint(path, found)};
  const fs::path config = found.run / "config.yaml";
  trained.config = {.file = config.string(), .overrides = overrides};
  std::error_code ignored;
  if (fs::exists(trained.path / kStateFile, ignored)) {
    const CheckpointState state = verify_checkpoint(trained.path);
    // What the weights belong to, whatever became of the run directory.
    trained.config.text = state.config;
    trained.fingerprint = state.data;
    trained.data = read_data_description(trained.path);
  }
  if (trained.config.text.empty() && !fs::exists(config, ignored))
    throw Error(ExitCode::weights, fmt::format("{} does not hold its configuration", trained.path.string()),
                fmt::format("the run directory that it comes from, with {}", config.filename().string()));
  return trained;
}

TrainedRun open_trained(const TrainedCheckpoint& trained, const std::vector<std::string>& given, Mesh& mesh,
                        ThreadPool& pool) {
  if (!trained.data) {
    if (!given.empty())
      throw Error(ExitCode::weights,
                  fmt::format("{} lacks {}: an earlier program made it", trained.path.string(), kDataFile),
                  "a checkpoint that this program saves: resume the run and end it");
    return open_trained_with_data(trained, mesh, pool);
  }
  OpenRun run{.config = ConfigTree(trained.config, run_settings())};
  const Config root = run.config.root();
  Data data = absent_data(*trained.data, (trained.path / kDataFile).string());
  if (!given.empty()) add_given_samples(root.at("data"), given, *trained.data, data);
  define_by_data(run.config, data.train->info());
  run.session = std::make_unique<Session>(root, std::move(data), mesh, pool);
  return with_weights(std::move(run), trained.path);
}

TrainedRun open_trained(const fs::path& path, const std::vector<std::string>& overrides, Mesh& mesh,
                        ThreadPool& pool) {
  return open_trained(find_trained(path, overrides), {}, mesh, pool);
}

std::vector<NamedTensor> merged_tensors(const TrainedRun& trained) {
  return merged_tensors(trained.session().network().plan(),
                        read_safetensors(trained.checkpoint / kModelFile).tensors);
}

TrainedRun open_trained_with_data(const TrainedCheckpoint& trained, Mesh& mesh, ThreadPool& pool) {
  OpenRun run = open_with_data(trained, mesh, pool);
  check_fingerprint(trained, run.session->data());
  return with_weights(std::move(run), trained.path);
}

}  // namespace trainer
