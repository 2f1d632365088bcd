#include "models/training/checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <system_error>

#include "engine/core/crc32c.h"
#include "engine/core/files.h"

namespace trainer {
namespace {

namespace fs = std::filesystem;

constexpr const char* kModel = "model.safetensors";
constexpr const char* kOptimizer = "optimizer.safetensors";
constexpr const char* kState = "state.json";
constexpr std::uint64_t kMostStateBytes = 1 << 20;

[[noreturn]] void fail(const fs::path& path, const std::error_code& error) {
  throw Error(ExitCode::failure, "cannot write " + path.string() + ": " + error.message());
}

std::vector<NamedView> views(const std::vector<NamedTensor>& tensors) {
  std::vector<NamedView> views;
  for (const NamedTensor& tensor : tensors)
    views.push_back({tensor.name, ConstTensor(tensor.values.data(), tensor.shape)});
  return views;
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

FileSeal seal_of(const fs::path& path) {
  constexpr std::size_t kPart = 1 << 20;
  const InputFile file(path, ExitCode::weights);
  FileSeal seal{.bytes = file.size()};
  std::vector<std::byte> part(std::min<std::uint64_t>(kPart, seal.bytes));
  for (std::uint64_t at = 0; at < seal.bytes; at += part.size()) {
    const auto bytes = std::span(part).first(std::min<std::uint64_t>(part.size(), seal.bytes - at));
    file.read(at, bytes);
    seal.crc32c = crc32c(bytes, seal.crc32c);
  }
  return seal;
}

/// Where a name like `last` points: "step-N", and nothing else.
fs::path target_of(const fs::path& link) {
  std::error_code ignored;
  const fs::path target = fs::read_symlink(link, ignored);
  return step_of(target.string()) ? link.parent_path() / target : fs::path();
}

CheckpointState read_state(const fs::path& path) {
  const std::string text = read_file(path, ExitCode::weights, kMostStateBytes);
  try {
    return parse_checkpoint_state(text);
  } catch (const Error& error) {
    throw Error(error.code(), fmt::format("{}: {}", path.string(), error.diagnostics().front().what));
  }
}

Checkpoint read_whole(const fs::path& directory) {
  Checkpoint checkpoint{.state = read_state(directory / kState)};
  for (const char* name : {kModel, kOptimizer}) {
    const auto seal = checkpoint.state.files.find(name);
    if (seal == checkpoint.state.files.end() || seal_of(directory / name) != seal->second)
      throw Error(ExitCode::weights,
                  fmt::format("{} is damaged: it is not as it was written", (directory / name).string()));
  }
  checkpoint.model = read_safetensors(directory / kModel).tensors;
  checkpoint.optimizer = read_safetensors(directory / kOptimizer).tensors;
  return checkpoint;
}

}  // namespace

Checkpoint read_checkpoint(const fs::path& directory) {
  // `last` by the name of what it points at, which is told in messages.
  const fs::path target = target_of(directory), place = target.empty() ? directory : target;
  try {
    return read_whole(place);
  } catch (const Error& error) {
    Diagnostic diagnostic = error.diagnostics().front();
    const auto step = step_of(place.filename().string());
    const std::vector<std::int64_t> steps = steps_in(place.parent_path());
    const auto next = std::ranges::lower_bound(steps, step.value_or(0));
    if (step && next != steps.begin())
      diagnostic.help = fmt::format("the checkpoint before it: trainer {}",
                                    (place.parent_path() / folder_name(*(next - 1))).string());
    throw Error(error.code(), {diagnostic});
  }
}

CheckpointFolder::CheckpointFolder(fs::path folder, std::int64_t keep)
    : folder_(std::move(folder)),
      last_(target_of(folder_ / "last")),
      best_(target_of(folder_ / "best")),
      keep_(keep) {}

fs::path CheckpointFolder::save(Checkpoint checkpoint, bool best) {
  const std::string name = folder_name(checkpoint.state.step);
  const fs::path path = folder_ / name, partial = folder_ / (name + ".partial");
  std::error_code error;
  fs::create_directories(folder_, error);
  if (error) fail(folder_, error);
  // What an interrupted save left behind under this name was never whole.
  fs::remove_all(partial, error);
  if (!fs::create_directory(partial, error)) fail(partial, error);
  try {
    write_safetensors(partial / kModel, views(checkpoint.model));
    write_safetensors(partial / kOptimizer, views(checkpoint.optimizer));
    for (const char* file : {kModel, kOptimizer}) checkpoint.state.files[file] = seal_of(partial / file);
    write_file(partial / kState, text_of(checkpoint.state));
  } catch (...) {
    fs::remove_all(partial, error);
    throw;
  }
  flush_directory(partial);
  if (fs::exists(fs::symlink_status(path))) fs::remove_all(path, error);
  fs::rename(partial, path, error);
  if (error) fail(path, error);
  point("last", name);
  if (best) point("best", name);
  flush_directory(folder_);
  last_ = path;
  if (best) best_ = path;
  remove_old(checkpoint.state.step);
  return path;
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
  const fs::path fresh = folder_ / (link + ".partial");
  std::error_code error;
  fs::remove(fresh, error);
  fs::create_directory_symlink(target, fresh, error);
  if (error) fail(fresh, error);
  fs::rename(fresh, folder_ / link, error);
  if (error) fail(folder_ / link, error);
}

}  // namespace trainer
