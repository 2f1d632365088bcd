#include "models/checkpoints/checkpoint.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <optional>
#include <system_error>

#include "engine/system/crc32.h"
#include "engine/system/files.h"

namespace trainer {
namespace {

namespace fs = std::filesystem;

constexpr auto kModel = CheckpointFolder::kModel, kOptimizer = CheckpointFolder::kOptimizer;
constexpr const char* kState = "state.json";
constexpr const char* kPartial = ".partial";
constexpr std::uint64_t kMostStateBytes = 24 << 20;  // a list as long as it may be, each number a line

[[noreturn]] void fail(const fs::path& path, const std::error_code& error) {
  throw Error(ExitCode::failure, "cannot write " + path.string() + ": " + error.message());
}

std::string folder_name(std::int64_t step) { return fmt::format("step-{}", step); }

/// The step of "step-120"; nothing for any other name.
std::optional<std::int64_t> step_of(const std::string& name) {
  constexpr std::string_view kPrefix = "step-";
  std::int64_t step = -1;
  if (!name.starts_with(kPrefix)) return std::nullopt;
  const char* const end = name.data() + name.size();
  const auto [stop, problem] = std::from_chars(name.data() + kPrefix.size(), end, step);
  if (problem != std::errc() || stop != end || step < 0 || folder_name(step) != name) return std::nullopt;
  return step;
}

/// The steps of the checkpoints in a folder, ascending.
std::vector<std::int64_t> steps_in(const fs::path& folder) {
  std::vector<std::int64_t> steps;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    if (const auto step = step_of(it->path().filename().string()); step && it->is_directory(error))
      steps.push_back(*step);
  std::ranges::sort(steps);
  return steps;
}

/// Where a name like `last` points: "step-N", and nothing else.
fs::path target_of(const fs::path& link) {
  std::error_code ignored;
  const fs::path target = fs::read_symlink(link, ignored);
  return step_of(target.string()) ? link.parent_path() / target : fs::path();
}

bool is_link_name(const fs::path& path) { return path.filename() == "last" || path.filename() == "best"; }

/// What to do about a link that leads nowhere: which checkpoint was the best is known to nobody else.
std::string right_link(const fs::path& link) {
  if (link.filename() == "best") return fmt::format("rm {}, and last is taken", link.string());
  const std::vector<std::int64_t> steps = steps_in(link.parent_path());
  return steps.empty() ? fmt::format("rm {}, and the run begins again", link.string())
                       : fmt::format("ln -sfn {} {}", folder_name(steps.back()), link.string());
}

Error leads_elsewhere(const fs::path& link, const std::string& what, const std::string& help) {
  std::error_code ignored;
  return {ExitCode::weights,
          {Diagnostic{.what = fmt::format("{} is a link to {}{}", link.string(),
                                          fs::read_symlink(link, ignored).string(), what),
                      .notes = {"what lies elsewhere may belong to another run, and is not followed"},
                      .help = help}}};
}

/// For a checkpoint's directory and its files, which are never links.
void refuse_to_follow(const fs::path& path) {
  std::error_code ignored;
  if (fs::is_symlink(fs::symlink_status(path, ignored)))
    throw leads_elsewhere(path, "", fmt::format("rm {}, or put there what it points at", path.string()));
}

/// With what to go on from instead of the damaged checkpoint at `place`, where there is anything.
Error with_offer(Diagnostic diagnostic, const fs::path& place) {
  const auto step = step_of(place.filename().string());
  const std::vector<std::int64_t> steps = steps_in(place.parent_path());
  const auto next = std::ranges::lower_bound(steps, step.value_or(0));
  if (step && next != steps.begin())
    diagnostic.help = fmt::format("the checkpoint before it: trainer {}",
                                  (place.parent_path() / folder_name(*(next - 1))).string());
  if (is_link_name(place) && !steps.empty())
    diagnostic.help = fmt::format("rm -r {}, and the newest checkpoint beside it is taken", place.string());
  return {ExitCode::weights, {std::move(diagnostic)}};
}

CheckpointState read_state(const fs::path& path) {
  const std::string text = read_file(path, ExitCode::weights, kMostStateBytes);
  try {
    return parse_checkpoint_state(text);
  } catch (const Error& error) {
    throw Error(error.code(), fmt::format("{} {}", path.string(), error.diagnostics().front().what));
  }
}

CheckpointState look_at_files(const fs::path& directory) {
  CheckpointState state = read_state(directory / kState);
  for (const char* name : {kModel, kOptimizer}) {
    const auto seal = state.files.find(name);
    if (seal == state.files.end() || seal_of(directory / name) != seal->second)
      throw Error(ExitCode::weights,
                  fmt::format("{} is damaged: it is not as it was written", (directory / name).string()));
  }
  return state;
}

/// Puts `fresh` where the directory `old` is, at once where the file system can do that.
void replace_directory(const fs::path& fresh, const fs::path& old) {
  std::error_code error;
  if (::renameat2(AT_FDCWD, fresh.c_str(), AT_FDCWD, old.c_str(), RENAME_EXCHANGE) == 0) {
    fs::remove_all(fresh, error);
    return;
  }
  const fs::path aside = old.string() + kPartial;
  fs::remove_all(aside, error);
  fs::rename(old, aside, error);
  if (!error) fs::rename(fresh, old, error);
  if (error) fail(old, error);
  fs::remove_all(aside, error);
}

}  // namespace

fs::path named_checkpoint(const fs::path& path) {
  std::error_code ignored;
  if (step_of(path.filename().string())) refuse_to_follow(path);
  if (!is_link_name(path) || !fs::is_symlink(fs::symlink_status(path, ignored))) return path;
  const fs::path target = target_of(path);
  if (target.empty()) throw leads_elsewhere(path, ", not to a checkpoint beside it", right_link(path));
  refuse_to_follow(target);
  return target;
}

fs::path present_checkpoint(const fs::path& path) {
  const fs::path place = named_checkpoint(path);
  std::error_code ignored;
  for (const char* name : {kModel, kOptimizer, kState}) refuse_to_follow(place / name);
  if (place == path || fs::is_directory(place, ignored)) return place;
  std::string names;
  for (const std::int64_t step : steps_in(path.parent_path()))
    names += (names.empty() ? "beside it: " : ", ") + folder_name(step);
  throw Error(ExitCode::weights, {Diagnostic{.what = fmt::format("{} is a link to {}, which is not there",
                                                                 path.string(), place.filename().string()),
                                             .notes = {names.empty() ? "no checkpoint is beside it" : names},
                                             .help = right_link(path)}});
}

fs::path newest_checkpoint(const fs::path& folder) {
  std::error_code ignored;
  const fs::path last = folder / "last";
  if (fs::exists(fs::symlink_status(last, ignored))) return last;
  const std::vector<std::int64_t> steps = steps_in(folder);
  return steps.empty() ? fs::path() : folder / folder_name(steps.back());
}

std::int64_t step_behind(const fs::path& link) {
  try {
    const fs::path place = named_checkpoint(link);
    return place != link ? step_of(place.filename().string()).value() : read_state(link / kState).step;
  } catch (const Error&) {
    return -1;
  }
}

FileSeal seal_of(const fs::path& path) {
  constexpr std::size_t kPart = 1 << 20;
  const InputFile file(path, ExitCode::weights);
  FileSeal seal{.bytes = file.size()};
  std::vector<std::byte> part(std::min<std::uint64_t>(kPart, seal.bytes));
  for (std::uint64_t at = 0; at < seal.bytes; at += part.size()) {
    const auto bytes = std::span(part).first(std::min<std::uint64_t>(part.size(), seal.bytes - at));
    file.read(at, bytes);
    seal.crc32 = crc32_of(bytes, seal.crc32);
  }
  return seal;
}

CheckpointState verify_checkpoint(const fs::path& directory) {
  // `last` by the name of what it points at, which is told in messages.
  const fs::path place = present_checkpoint(directory);
  CheckpointState state;
  try {
    state = look_at_files(place);
  } catch (const Error& error) {
    throw with_offer(error.diagnostics().front(), place);
  }
  if (step_of(place.filename().string()).value_or(state.step) != state.step)
    throw damaged_state(place, fmt::format("it tells of step {}", state.step));
  return state;
}

Error damaged_state(const fs::path& directory, const std::string& what) {
  const fs::path place = named_checkpoint(directory);
  return with_offer({.what = fmt::format("{} is damaged: {}", (place / kState).string(), what)}, place);
}

namespace {

std::optional<CheckpointState> state_if_whole(const fs::path& directory) {
  try {
    return verify_checkpoint(directory);
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace

Checkpoint read_checkpoint(const fs::path& directory) {
  CheckpointState state = verify_checkpoint(directory);
  return {.model = read_safetensors(directory / kModel).tensors,
          .optimizer = read_safetensors(directory / kOptimizer).tensors,
          .state = std::move(state)};
}

CheckpointFolder::CheckpointFolder(fs::path folder, std::int64_t keep)
    : folder_(std::move(folder)),
      last_(target_of(folder_ / "last")),
      best_(target_of(folder_ / "best")),
      keep_(keep) {}

void CheckpointFolder::go_on(std::int64_t step, std::int64_t best_step) {
  std::error_code error;
  std::vector<fs::path> leftovers;
  for (fs::directory_iterator it(folder_, error), end; !error && it != end; it.increment(error))
    if (it->path().extension() == kPartial) leftovers.push_back(it->path());
  for (const fs::path& leftover : leftovers) fs::remove_all(leftover, error);
  for (const char* link : {"last", "best"}) keep_copied(link);
  const auto holds = [&](std::int64_t wanted) {
    return fs::exists(folder_ / folder_name(wanted) / kState, error);
  };
  if (holds(step) && last_ != folder_ / folder_name(step)) {
    point("last", folder_name(step));
    last_ = folder_ / folder_name(step);
  }
  if (best_ == folder_ / folder_name(best_step)) return;
  best_.clear();
  if (holds(best_step)) {
    point("best", folder_name(best_step));
    best_ = folder_ / folder_name(best_step);
  } else {
    const fs::path aside = folder_ / (std::string("best") + kPartial);
    fs::rename(folder_ / "best", aside, error);
    fs::remove_all(aside, error);
  }
}

void CheckpointFolder::keep_copied(const std::string& link) const {
  const fs::path copy = folder_ / link;
  std::error_code error;
  if (!fs::is_directory(fs::symlink_status(copy, error))) return;
  const CheckpointState state = verify_checkpoint(copy);
  const std::string name = folder_name(state.step);
  const fs::path place = folder_ / name, aside = folder_ / (name + ".damaged" + kPartial);
  if (fs::exists(fs::symlink_status(place, error))) {
    const std::optional<CheckpointState> there = state_if_whole(place);
    if (there && there->files == state.files) return;
    if (there)
      throw Error(ExitCode::weights,
                  fmt::format("{} is another checkpoint than the {} beside it", copy.string(), name),
                  fmt::format("mv {} elsewhere", copy.string()));
    // Not exchanged: killed while it removes what was there, it would leave half of it in the link's place.
    fs::rename(place, aside, error);
    if (error) fail(place, error);
  }
  fs::rename(copy, place, error);
  if (error) fail(place, error);
  fs::remove_all(aside, error);
}

void refuse_link(const fs::path& folder) {
  std::error_code ignored;
  if (fs::is_symlink(fs::symlink_status(folder, ignored)))
    throw Error(ExitCode::failure,
                fmt::format("{} is a link: nothing is written behind it", folder.string()));
}

void put_back_replaced(const fs::path& folder) {
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    const fs::path& aside = entry.path();
    if (aside.extension() != kPartial || !step_of(aside.stem().string())) continue;
    const fs::path place = aside.parent_path() / aside.stem();
    std::error_code problem;
    if (!fs::exists(fs::symlink_status(place, problem))) fs::rename(aside, place, problem);
    if (problem) fail(place, problem);
  }
}

fs::path CheckpointFolder::begin(std::int64_t step) {
  std::error_code error;
  // Not the directories above: a run directory that somebody removed is not made again.
  fs::create_directory(folder_, error);
  if (error) fail(folder_, error);
  refuse_link(folder_);
  partial_ = folder_ / fmt::format("{}.{}-{}{}", folder_name(step), ::getpid(),
                                   std::chrono::steady_clock::now().time_since_epoch().count(), kPartial);
  if (!fs::create_directory(partial_, error)) fail(partial_, error);
  return partial_;
}

void CheckpointFolder::abandon() {
  std::error_code ignored;
  if (!partial_.empty()) fs::remove_all(partial_, ignored);
  partial_.clear();
}

void CheckpointFolder::commit(const CheckpointState& state, bool best) {
  const std::string name = folder_name(state.step);
  const fs::path path = folder_ / name;
  try {
    write_file(partial_ / kState, text_of(state));  // which flushes the directory too
    std::error_code error;
    // One of this step may be there: of a time before the run went back, or without its evaluation.
    if (fs::exists(fs::symlink_status(path, error)))
      replace_directory(partial_, path);
    else
      fs::rename(partial_, path, error);
    if (error) fail(path, error);
  } catch (...) {
    abandon();
    throw;
  }
  partial_.clear();
  flush_directory(folder_);
  point("last", name);
  if (best) point("best", name);
  flush_directory(folder_);
  last_ = path;
  if (best) best_ = path;
  remove_old(state.step);
}

void CheckpointFolder::remove_old(std::int64_t newest) const {
  // Those of later steps are of a time before the run went back.
  std::vector<std::int64_t> steps = steps_in(folder_);
  std::erase_if(steps, [&](std::int64_t step) { return step > newest; });
  std::error_code ignored;
  for (std::int64_t i = 0; i < std::ssize(steps) - keep_; ++i) {
    const fs::path old = folder_ / folder_name(steps[static_cast<std::size_t>(i)]);
    if (old != best_) fs::remove_all(old, ignored);
  }
}

void CheckpointFolder::point(const std::string& link, const std::string& target) const {
  const fs::path place = folder_ / link, fresh = folder_ / (link + ".link" + kPartial);
  std::error_code error;
  fs::remove_all(fresh, error);
  fs::create_directory_symlink(target, fresh, error);
  if (error) fail(fresh, error);
  if (fs::is_directory(fs::symlink_status(place, error))) return replace_directory(fresh, place);
  fs::rename(fresh, place, error);
  if (error) fail(place, error);
}

}  // namespace trainer
