#include "cli/launching/private_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ctime>
#include <string>
#include <system_error>
#include <utility>

namespace trainer {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLock = "lock";
constexpr std::time_t kTimeToLock = 60;

std::string prefix() { return "trainer-" + std::to_string(::geteuid()) + "-"; }

/// Whether this is a folder, not a link, that no other user can change.
bool is_own_folder(const fs::path& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == ::geteuid() &&
         (status.st_mode & 077) == 0;
}

Descriptor open_lock(const fs::path& folder, int flags) {
  return Descriptor(::open((folder / kLock).c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | flags, 0600));
}

/// Removes the folder if no living process uses it. It may be so new that its lock does not exist yet.
void remove_if_dead(const fs::path& folder) {
  struct stat status {};
  if (!is_own_folder(folder) || ::lstat(folder.c_str(), &status) != 0) return;
  const Descriptor lock = open_lock(folder, 0);
  if (lock.number() < 0 && std::time(nullptr) - status.st_mtime < kTimeToLock) return;
  if (lock.number() >= 0 && ::flock(lock.number(), LOCK_EX | LOCK_NB) != 0) return;
  std::error_code ignored;
  fs::remove_all(folder, ignored);
}

void remove_dead(const fs::path& parent) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(parent, ignored))
    if (entry.path().filename().string().starts_with(prefix())) remove_if_dead(entry.path());
}

}  // namespace

PrivateFolder PrivateFolder::create(const fs::path& parent) {
  std::string path = (parent / (prefix() + "XXXXXX")).string();
  return ::mkdtemp(path.data()) ? join(path) : PrivateFolder();
}

PrivateFolder PrivateFolder::join(const fs::path& path) {
  PrivateFolder folder;
  // Another job may remove the folder before it is locked; the second attempt is later than that.
  for (int attempt = 0; attempt < 2 && folder.path_.empty(); ++attempt) {
    ::mkdir(path.c_str(), 0700);
    if (!is_own_folder(path)) return {};
    folder.lock_ = open_lock(path, O_CREAT);
    struct stat status {};
    if (folder.lock_.number() >= 0 && ::flock(folder.lock_.number(), LOCK_SH) == 0 &&
        ::fstat(folder.lock_.number(), &status) == 0 && status.st_nlink > 0)
      folder.path_ = path;
  }
  remove_dead(path.parent_path());
  return folder;
}

PrivateFolder& PrivateFolder::operator=(PrivateFolder&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(lock_, other.lock_);
  return *this;
}

PrivateFolder::~PrivateFolder() {
  if (path_.empty() || ::flock(lock_.number(), LOCK_EX | LOCK_NB) != 0) return;
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

void PrivateFolder::keep_through_exec() const {
  if (lock_.number() >= 0) ::fcntl(lock_.number(), F_SETFD, 0);
}

}  // namespace trainer
