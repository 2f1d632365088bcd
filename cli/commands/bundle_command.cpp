#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "cli/commands/bundle.h"
#include "cli/commands/commands.h"
#include "cli/commands/new_directory.h"
#include "cli/launching/collective_errors.h"
#include "cli/terminal/folder_path.h"
#include "cli/terminal/shell_line.h"
#include "cli/terminal/version.h"
#include "engine/core/sha256.h"
#include "engine/system/files.h"
#include "models/checkpoints/checkpoint.h"
#include "models/proof/chain.h"

namespace trainer {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kLargestList = std::uint64_t{1} << 24;
constexpr std::size_t kBlock = 1 << 20;

std::string sha256_of(const fs::path& path) {
  const InputFile file(path, ExitCode::weights);
  Sha256 hash;
  std::vector<std::byte> block(kBlock);
  for (std::uint64_t done = 0; done < file.size();) {
    const auto part = std::span(block).first(std::min<std::uint64_t>(kBlock, file.size() - done));
    file.read(done, part);
    hash.add(part);
    done += part.size();
  }
  return hex_of(hash.digest());
}

/// The files of a run that a bundle has, relative to the run.
std::vector<fs::path> files_of(const fs::path& run) {
  std::vector<fs::path> files{"config.yaml", kChainFile, "command.txt"};
  std::error_code error;
  for (fs::directory_iterator it(run, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    const bool is_engine_table = name.starts_with("engines-") && name.ends_with(".csv");
    if (is_engine_table || (name.starts_with("environment") && name.ends_with(".json")))
      files.push_back(name);
  }
  std::ranges::sort(files);
  for (const std::int64_t step : checkpoint_steps(run / "checkpoints")) {
    const fs::path checkpoint = fs::path("checkpoints") / checkpoint_name(step);
    verify_checkpoint(run / checkpoint);
    for (const char* name : {kModelFile, kOptimizerFile, kStateFile, kDataFile})
      if (fs::exists(run / checkpoint / name, error)) files.push_back(checkpoint / name);
  }
  return files;
}

void write_bundle(const fs::path& run, const fs::path& out) {
  const std::int64_t last = read_chain(run).last_step();
  NewDirectory directory(out);
  const fs::path& partial = directory.path();
  std::error_code error;
  nlohmann::ordered_json list = nlohmann::ordered_json::object();
  for (const fs::path& name : files_of(run)) {
    if (!fs::is_regular_file(fs::symlink_status(run / name, error)))
      throw Error(ExitCode::usage, fmt::format("{} is not a file", (run / name).string()));
    fs::create_directories((partial / name).parent_path(), error);
    if (!error) fs::copy_file(run / name, partial / name, error);
    if (error)
      throw Error(ExitCode::failure,
                  fmt::format("cannot write {}: {}", (partial / name).string(), error.message()));
    list[name.string()] = sha256_of(partial / name);
  }
  write_file(partial / kBundleFile,
             nlohmann::ordered_json{
                 {"program", fmt::format("trainer {}", version())}, {"steps", last}, {"sha256", list}}
                     .dump(2) +
                 "\n");
  directory.commit();
}

}  // namespace

void check_bundle(const fs::path& directory) {
  std::error_code ignored;
  const fs::path file = directory / kBundleFile;
  if (!fs::exists(file, ignored)) return;
  const auto fail = [&](const fs::path& path, const std::string& what) {
    throw Error(ExitCode::weights, fmt::format("{}: {}", path.string(), what),
                "a copy of the whole bundle as `trainer bundle` wrote it");
  };
  const auto json = nlohmann::json::parse(read_file(file, ExitCode::weights, kLargestList), nullptr, false);
  if (!json.is_object() || !json.contains("sha256") || !json["sha256"].is_object())
    fail(file, "it is damaged");
  for (const auto& [name, sum] : json["sha256"].items()) {
    const fs::path path(name);
    if (path.is_absolute() || std::ranges::find(path, "..") != path.end() || !sum.is_string())
      fail(file, "it is damaged");
    if (!fs::is_regular_file(fs::symlink_status(directory / path, ignored)))
      fail(directory / path, "it is missing");
    if (sha256_of(directory / path) != sum.get<std::string>())
      fail(directory / path, "its SHA-256 is not that of the bundle");
  }
}

void bundle_command(const Job& job) {
  const fs::path run = named_folder(job.arguments.files.front());
  const fs::path out = job.arguments.out.empty() ? run.string() + "-bundle" : job.arguments.out;
  run_collectively(job.world, [&] {
    if (job.world.rank() == 0) write_bundle(run, out);
  });
  const std::string place = shell_line({out.string()});
  job.print(fmt::format("saved {}   check: trainer verify {}\n", place, place));
}

}  // namespace trainer
