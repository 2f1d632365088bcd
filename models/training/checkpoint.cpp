#include "models/training/checkpoint.h"

#include <nlohmann/json.hpp>
#include <set>
#include <system_error>

#include "engine/core/files.h"

namespace trainer {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const fs::path& path, const std::error_code& error) {
  throw Error(ExitCode::failure, "cannot write " + path.string() + ": " + error.message());
}

std::vector<NamedView> views(const std::vector<NamedTensor>& tensors) {
  std::vector<NamedView> views;
  for (const NamedTensor& tensor : tensors)
    views.push_back({tensor.name, ConstTensor(tensor.values.data(), tensor.shape)});
  return views;
}

}  // namespace

std::string checkpoint_state(const CheckpointState& state) {
  const nlohmann::ordered_json json{{"format", 1},
                                    {"step", state.step},
                                    {"epoch", state.step / state.steps_per_epoch},
                                    {"step_in_epoch", state.step % state.steps_per_epoch},
                                    {"seed", state.seed}};
  return json.dump(2) + "\n";
}

CheckpointFolder::CheckpointFolder(fs::path folder) : folder_(std::move(folder)) {}

fs::path CheckpointFolder::save(std::int64_t step, const Checkpoint& checkpoint, bool best) {
  const std::string name = "step-" + std::to_string(step);
  const fs::path path = folder_ / name, partial = folder_ / (name + ".partial");
  std::error_code error;
  fs::create_directories(folder_, error);
  if (error) fail(folder_, error);
  if (!fs::exists(fs::symlink_status(path))) {
    // What an interrupted save left behind under this name was never whole.
    fs::remove_all(partial, error);
    if (!fs::create_directory(partial, error)) fail(partial, error);
    try {
      write_safetensors(partial / "model.safetensors", views(checkpoint.model));
      write_safetensors(partial / "optimizer.safetensors", views(checkpoint.optimizer));
      write_file(partial / "state.json", checkpoint.state);
    } catch (...) {
      fs::remove_all(partial, error);
      throw;
    }
    flush_directory(partial);
    fs::rename(partial, path, error);
    if (error) fail(path, error);
  }
  point("last", name);
  if (best) point("best", name);
  flush_directory(folder_);
  const std::set<fs::path> before{last_, best_};
  last_ = path;
  if (best) best_ = path;
  for (const fs::path& old : before)
    if (!old.empty() && old != last_ && old != best_) fs::remove_all(old, error);
  return path;
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
