#include "models/checkpoints/snapshot_copies.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <optional>
#include <span>
#include <system_error>
#include <vector>

#include "engine/parallel/broadcast_text.h"
#include "engine/system/files.h"
#include "models/checkpoints/checkpoint_folder.h"

namespace trainer {
namespace {

namespace fs = std::filesystem;

constexpr std::array kTensorFiles{kModelFile, kOptimizerFile};
constexpr std::uint64_t kPart = 4 << 20;

/// The message of the failure of `work`; empty if there is none.
std::string failure_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& error) {
    return error.diagnostics().front().what;
  }
  return "";
}

}  // namespace

SnapshotCopies::SnapshotCopies(Communicator& world, bool is_first, fs::path folder)
    : world_(world), folder_(std::move(folder)) {
  const std::unique_ptr<Communicator> hosts = world.split(is_first ? 0 : 1, world.rank());
  writes_ = is_first && (!sees_folder_of_rank_0(*hosts) || world.rank() == 0);
  writers_ = world.split(writes_ ? 0 : 1, world.rank());
}

/// By a file that appears there. Collective over `hosts`, whose first rank is world rank 0 or not asked.
bool SnapshotCopies::sees_folder_of_rank_0(Communicator& hosts) const {
  std::string name =
      fmt::format("sign-{}-{}", ::getpid(), std::chrono::steady_clock::now().time_since_epoch().count());
  broadcast_text(hosts, name);
  const fs::path sign = folder_.parent_path() / name;
  if (hosts.rank() == 0) failure_of([&] { write_file(sign, ""); });
  hosts.barrier();
  std::error_code error;
  const bool sees = fs::exists(sign, error);
  hosts.barrier();
  if (hosts.rank() == 0) fs::remove(sign, error);
  return sees;
}

void SnapshotCopies::begin(std::int64_t step) const {
  if (!writes_) return;
  std::error_code ignored;
  if (link_target(folder_ / "last") != folder_ / checkpoint_name(step)) fs::remove_all(folder_, ignored);
  CheckpointFolder(folder_).resume(step, -1);
}

std::string SnapshotCopies::lack_of_room(std::uint64_t bytes) const {
  std::string mine;
  std::error_code error;
  if (writes_) {
    // The state's text and the directories come to less than this.
    constexpr std::uintmax_t kMore = 1 << 20;
    const fs::space_info space = fs::space(folder_.parent_path(), error);
    if (error)
      mine = fmt::format("cannot write {}: {}", folder_.string(), error.message());
    else if (space.available < bytes + kMore)
      mine = fmt::format("{} has {} bytes of room", folder_.parent_path().parent_path().string(),
                         space.available);
  }
  return first_of(mine);
}

std::string SnapshotCopies::spread(const fs::path& snapshot) const {
  std::string mine;
  if (writes_ && writers_->size() > 1) {
    if (world_.rank() == 0) {
      std::string state = read_file(snapshot / kStateFile, ExitCode::failure, kMaxStateBytes);
      broadcast_text(*writers_, state);
      for (const char* name : kTensorFiles) send(snapshot / name);
    } else {
      mine = receive();
    }
  }
  return first_of(mine);
}

/// To the other writers; its size is in the state.
void SnapshotCopies::send(const fs::path& path) const {
  const InputFile file(path, ExitCode::failure);
  std::vector<std::byte> part(std::min(kPart, file.size()));
  for (std::uint64_t at = 0; at < file.size(); at += kPart) {
    const auto bytes = std::span(part).first(std::min(kPart, file.size() - at));
    file.read(at, bytes);
    writers_->broadcast(bytes, 0);
  }
}

/// What keeps this host from having the copy; it takes part in all messages in any case.
std::string SnapshotCopies::receive() const {
  std::string text;
  broadcast_text(*writers_, text);
  const CheckpointState state = parse_checkpoint_state(text);
  CheckpointFolder folder(folder_, 1);
  fs::path directory;
  std::string failure = failure_of([&] { directory = folder.begin(state.step); });
  for (const char* name : kTensorFiles) {
    std::optional<OutputFile> file;
    const auto attempt = [&](const std::function<void()>& work) {
      if (failure.empty()) failure = failure_of(work);
    };
    attempt([&] { file.emplace(directory / name); });
    const std::uint64_t size = state.files.at(name).bytes;
    std::vector<std::byte> part(std::min(kPart, size));
    for (std::uint64_t at = 0; at < size; at += kPart) {
      const auto bytes = std::span(part).first(std::min(kPart, size - at));
      writers_->broadcast(bytes, 0);
      attempt([&] { file->write(bytes); });
    }
    attempt([&] { file->commit(); });
  }
  if (failure.empty())
    failure = failure_of([&] { folder.commit(state, false); });
  else
    folder.abandon();
  return failure;
}

std::string SnapshotCopies::first_of(const std::string& mine) const {
  std::string first;
  for (const auto& bytes : world_.gather(std::as_bytes(std::span(mine)), 0))
    if (first.empty()) first.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  broadcast_text(world_, first);
  return first;
}

}  // namespace trainer
