#include "models/checkpoints/checkpoint_paths.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <system_error>

#include "engine/core/error.h"

namespace trainer {
namespace {

namespace fs = std::filesystem;

/// How to repair a link whose target is missing.
std::string right_link(const fs::path& link) {
  std::error_code ignored;
  if (link.filename() == "best")
    return fs::exists(link, ignored) || fs::exists(link.parent_path() / "last", ignored)
               ? fmt::format("rm {}, and `last` is used", link.string())
               : "`cp -rL` copies the directory that a link names";
  const std::vector<std::int64_t> steps = checkpoint_steps(link.parent_path());
  return steps.empty() ? fmt::format("rm {}, and the run starts again", link.string())
                       : fmt::format("ln -sfn {} {}", checkpoint_name(steps.back()), link.string());
}

Error leads_elsewhere(const fs::path& link, const std::string& what, const std::string& help) {
  std::error_code ignored;
  return {ExitCode::weights,
          {Diagnostic{.what = fmt::format("{} is a link to {}{}", link.string(),
                                          fs::read_symlink(link, ignored).string(), what),
                      .notes = {"a link to elsewhere is not followed: its target may belong to another run"},
                      .help = help}}};
}

/// Error(weights) if a checkpoint's directory or file is a link.
void refuse_to_follow(const fs::path& path) {
  std::error_code ignored;
  if (fs::is_symlink(fs::symlink_status(path, ignored)))
    throw leads_elsewhere(path, "",
                          fmt::format("rm {}, or replace it with what it points at", path.string()));
}

}  // namespace

std::string checkpoint_name(std::int64_t step) { return fmt::format("step-{}", step); }

std::optional<std::int64_t> checkpoint_step(const std::string& name) {
  constexpr std::string_view kPrefix = "step-";
  std::int64_t step = -1;
  if (!name.starts_with(kPrefix)) return std::nullopt;
  const char* const end = name.data() + name.size();
  const auto [stop, problem] = std::from_chars(name.data() + kPrefix.size(), end, step);
  if (problem != std::errc() || stop != end || step < 0 || checkpoint_name(step) != name) return std::nullopt;
  return step;
}

std::vector<std::int64_t> checkpoint_steps(const fs::path& folder) {
  std::vector<std::int64_t> steps;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    if (const auto step = checkpoint_step(it->path().filename().string()); step && it->is_directory(error))
      steps.push_back(*step);
  std::ranges::sort(steps);
  return steps;
}

fs::path link_target(const fs::path& link) {
  std::error_code ignored;
  const fs::path target = fs::read_symlink(link, ignored);
  return checkpoint_step(target.string()) ? link.parent_path() / target : fs::path();
}

bool is_link_name(const fs::path& path) { return path.filename() == "last" || path.filename() == "best"; }

fs::path named_checkpoint(const fs::path& path) {
  std::error_code ignored;
  if (checkpoint_step(path.filename().string())) refuse_to_follow(path);
  if (!is_link_name(path) || !fs::is_symlink(fs::symlink_status(path, ignored))) return path;
  const fs::path target = link_target(path);
  if (target.empty()) throw leads_elsewhere(path, ", not to a checkpoint beside it", right_link(path));
  refuse_to_follow(target);
  return target;
}

fs::path present_checkpoint(const fs::path& path) {
  const fs::path place = named_checkpoint(path);
  std::error_code ignored;
  for (const char* name : {kModelFile, kOptimizerFile, kStateFile, kDataFile}) refuse_to_follow(place / name);
  if (place == path || fs::is_directory(place, ignored)) return place;
  std::string names;
  for (const std::int64_t step : checkpoint_steps(path.parent_path()))
    names += (names.empty() ? "beside it: " : ", ") + checkpoint_name(step);
  throw Error(ExitCode::weights, {Diagnostic{.what = fmt::format("{} is a link to {}, which is not there",
                                                                 path.string(), place.filename().string()),
                                             .notes = {names.empty() ? "no checkpoint is beside it" : names},
                                             .help = right_link(path)}});
}

fs::path newest_checkpoint(const fs::path& folder) {
  std::error_code ignored;
  const fs::path last = folder / "last";
  if (fs::exists(fs::symlink_status(last, ignored))) return last;
  const std::vector<std::int64_t> steps = checkpoint_steps(folder);
  return steps.empty() ? fs::path() : folder / checkpoint_name(steps.back());
}

fs::path checkpoint_before(const fs::path& folder, std::int64_t step) {
  const std::vector<std::int64_t> steps = checkpoint_steps(folder);
  const auto first_after = std::ranges::lower_bound(steps, step);
  return first_after == steps.begin() ? fs::path() : folder / checkpoint_name(*std::prev(first_after));
}

void refuse_link(const fs::path& folder) {
  std::error_code ignored;
  if (fs::is_symlink(fs::symlink_status(folder, ignored)))
    throw Error(ExitCode::failure, fmt::format("{} is a link, which is not followed", folder.string()));
}

void restore_replaced(const fs::path& folder) {
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    const fs::path& aside = entry.path();
    if (aside.extension() != kPartialSuffix || !checkpoint_step(aside.stem().string())) continue;
    const fs::path place = aside.parent_path() / aside.stem();
    std::error_code problem;
    if (!fs::exists(fs::symlink_status(place, problem))) fs::rename(aside, place, problem);
    if (problem)
      throw Error(ExitCode::failure, fmt::format("cannot write {}: {}", place.string(), problem.message()));
  }
}

}  // namespace trainer
