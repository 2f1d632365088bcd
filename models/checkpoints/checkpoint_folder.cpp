#include "models/checkpoints/checkpoint_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <optional>
#include <system_error>
#include <vector>

#include "engine/core/error.h"
#include "engine/system/files.h"
#include "models/checkpoints/checkpoint.h"

namespace trainer {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const fs::path& path, const std::error_code& error) {
  throw Error(ExitCode::failure, "cannot write " + path.string() + ": " + error.message());
}

/// Replaces the directory `old` by `fresh`, atomically if the file system can.
void replace_directory(const fs::path& fresh, const fs::path& old) {
  std::error_code error;
  if (::renameat2(AT_FDCWD, fresh.c_str(), AT_FDCWD, old.c_str(), RENAME_EXCHANGE) == 0) {
    fs::remove_all(fresh, error);
    return;
  }
  const fs::path aside = old.string() + kPartialSuffix;
  fs::remove_all(aside, error);
  fs::rename(old, aside, error);
  if (!error) fs::rename(fresh, old, error);
  if (error) fail(old, error);
  fs::remove_all(aside, error);
}

std::optional<CheckpointState> state_if_whole(const fs::path& directory) {
  try {
    return verify_checkpoint(directory);
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace

CheckpointFolder::CheckpointFolder(fs::path folder, std::int64_t keep, std::string data)
    : folder_(std::move(folder)),
      last_(link_target(folder_ / "last")),
      best_(link_target(folder_ / "best")),
      keep_(keep),
      data_(std::move(data)) {}

void CheckpointFolder::resume(std::int64_t step, std::int64_t best_step) {
  std::error_code error;
  std::vector<fs::path> leftovers;
  for (fs::directory_iterator it(folder_, error), end; !error && it != end; it.increment(error))
    if (it->path().extension() == kPartialSuffix) leftovers.push_back(it->path());
  for (const fs::path& leftover : leftovers) fs::remove_all(leftover, error);
  for (const char* link : {"last", "best"}) keep_copied(link);
  const auto holds = [&](std::int64_t expected) {
    return fs::exists(folder_ / checkpoint_name(expected) / kStateFile, error);
  };
  if (holds(step) && last_ != folder_ / checkpoint_name(step)) {
    point("last", checkpoint_name(step));
    last_ = folder_ / checkpoint_name(step);
  }
  if (best_ == folder_ / checkpoint_name(best_step)) return;
  best_.clear();
  if (holds(best_step)) {
    point("best", checkpoint_name(best_step));
    best_ = folder_ / checkpoint_name(best_step);
  } else {
    const fs::path aside = folder_ / (std::string("best") + kPartialSuffix);
    fs::rename(folder_ / "best", aside, error);
    fs::remove_all(aside, error);
  }
}

void CheckpointFolder::keep_copied(const std::string& link) const {
  const fs::path copy = folder_ / link;
  std::error_code error;
  if (!fs::is_directory(fs::symlink_status(copy, error))) return;
  const CheckpointState state = verify_checkpoint(copy);
  const std::string name = checkpoint_name(state.step);
  const fs::path place = folder_ / name, aside = folder_ / (name + ".damaged" + kPartialSuffix);
  if (fs::exists(fs::symlink_status(place, error))) {
    const std::optional<CheckpointState> there = state_if_whole(place);
    if (there && there->files == state.files) return;
    if (there)
      throw Error(ExitCode::weights,
                  fmt::format("{} is another checkpoint than the {} beside it", copy.string(), name),
                  fmt::format("mv {} elsewhere", copy.string()));
    // Not an exchange: a process killed while it removes the old directory must not leave half of it here.
    fs::rename(place, aside, error);
    if (error) fail(place, error);
  }
  fs::rename(copy, place, error);
  if (error) fail(place, error);
  fs::remove_all(aside, error);
}

fs::path CheckpointFolder::begin(std::int64_t step) {
  std::error_code error;
  // Not its parents: a run directory that was removed stays removed.
  fs::create_directory(folder_, error);
  if (error) fail(folder_, error);
  refuse_link(folder_);
  partial_ =
      folder_ / fmt::format("{}.{}-{}{}", checkpoint_name(step), ::getpid(),
                            std::chrono::steady_clock::now().time_since_epoch().count(), kPartialSuffix);
  if (!fs::create_directory(partial_, error)) fail(partial_, error);
  return partial_;
}

void CheckpointFolder::abandon() {
  std::error_code ignored;
  if (!partial_.empty()) fs::remove_all(partial_, ignored);
  partial_.clear();
}

void CheckpointFolder::commit(CheckpointState state, bool best) {
  const std::string name = checkpoint_name(state.step);
  const fs::path path = folder_ / name;
  try {
    if (!data_.empty()) {
      write_file(partial_ / kDataFile, data_);
      state.files[kDataFile] = seal_of(partial_ / kDataFile);
    }
    write_file(partial_ / kStateFile, text_of(state));  // flushes the directory, too
    std::error_code error;
    // The step may have a checkpoint already: from before the run was set back, or without its evaluation.
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
  // Checkpoints of later steps are from before the run was set back.
  std::vector<std::int64_t> steps = checkpoint_steps(folder_);
  std::erase_if(steps, [&](std::int64_t step) { return step > newest; });
  std::error_code ignored;
  for (std::int64_t i = 0; i < std::ssize(steps) - keep_; ++i) {
    const fs::path old = folder_ / checkpoint_name(steps[static_cast<std::size_t>(i)]);
    if (old != best_) fs::remove_all(old, ignored);
  }
}

void CheckpointFolder::point(const std::string& link, const std::string& target) const {
  const fs::path place = folder_ / link, fresh = folder_ / (link + ".link" + kPartialSuffix);
  std::error_code error;
  fs::remove_all(fresh, error);
  fs::create_directory_symlink(target, fresh, error);
  if (error) fail(fresh, error);
  if (fs::is_directory(fs::symlink_status(place, error))) return replace_directory(fresh, place);
  fs::rename(fresh, place, error);
  if (error) fail(place, error);
}

}  // namespace trainer
