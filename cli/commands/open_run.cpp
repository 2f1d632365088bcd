#include "cli/commands/open_run.h"

#include <filesystem>
#include <map>

#include "cli/launching/collective_errors.h"
#include "engine/config/yaml_reader.h"
#include "engine/parallel/broadcast_text.h"
#include "engine/parallel/wait_for_all.h"
#include "models/training/sharding_check.h"

namespace trainer {
namespace {

/// A pipe can be read once, and commands may need its text several times.
const std::string& pipe_text(const std::string& path) {
  static std::map<std::string, std::string> texts;
  const auto [found, is_new] = texts.try_emplace(path);
  if (is_new) found->second = read_text(path);
  return found->second;
}

}  // namespace

void define_by_data(ConfigTree& config, const DatasetInfo& info) {
  const auto define = [&](const char* name, int count) {
    config.define(name, count > 0 ? std::to_string(count) : "");
  };
  define("classes", info.outputs());
  define("vocab", info.vocabulary);
}

ConfigSource config_source(const std::vector<std::string>& files, std::vector<std::string> overrides) {
  ConfigSource source{
      .file = files.front(), .over = {files.begin() + 1, files.end()}, .overrides = std::move(overrides)};
  if (std::error_code none; std::filesystem::is_fifo(source.file, none)) source.text = pipe_text(source.file);
  return source;
}

std::string learn_once(const ConfigSource& source, Communicator& world) {
  std::string learned;
  if (world.size() == 1) return learned;  // open_run() learns it
  const auto learn = [&] {
    const ConfigTree config(source, run_settings());
    learned = learn_data(config.root().at("data"));
  };
  run_collectively(world,
                   [&] { with_disk(world, "the first reading of the data", world.rank() == 0, learn); });
  broadcast_text(world, learned);
  return learned;
}

OpenRun open_run(const ConfigSource& source, Mesh& mesh, ThreadPool& pool, const std::string& learned,
                 const DataDescription* trained) {
  OpenRun run{.config = ConfigTree(source, run_settings())};
  const Config root = run.config.root();
  const auto seed = static_cast<std::uint64_t>(root.at("train").get<std::int64_t>("seed"));
  Data data = open_data(root.at("data"), seed, learned);
  if (trained) use_statistics(*trained, data);
  define_by_data(run.config, data.train->info());
  run.session = std::make_unique<Session>(root, std::move(data), mesh, pool);
  return run;
}

void check_before_launch(const Arguments& arguments) {
  const MeshShape mesh = mesh_of(arguments, arguments.ranks);
  if (arguments.verb == Verb::predict) return;  // its files are inputs
  if (arguments.files.empty()) return;
  for (const std::string& file : arguments.files)
    if (std::error_code none; std::filesystem::is_fifo(file, none))
      throw Error(ExitCode::usage, file + " is a pipe: the processes of -n cannot all read it",
                  "save the configuration to a file");
  // The command itself checks other paths, such as run directories.
  if (std::error_code none; !std::filesystem::is_regular_file(arguments.files.front(), none)) return;
  const ConfigTree config(config_source(arguments.files, arguments.overrides), run_settings());
  if (arguments.chooses_mesh) return;
  const Config train = config.root().at("train");
  check_ranks(train, train_settings(train), mesh.data, mesh.model);
  check_sharding(train, train_settings(train), arguments.sharding, mesh.model);
}

void load_samples(Session& session) {
  Communicator& world = session.mesh().world();
  const auto host = world.split_by_host();
  // Collective over the host, where all ranks fail or none.
  run_collectively(world, [&] { session.load_samples(*host); });
}

}  // namespace trainer
