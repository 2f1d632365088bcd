#include "datasets/fetching/fetch.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>

#include <algorithm>
#include <cstdlib>

#include "datasets/fetching/transfer.h"
#include "engine/core/error.h"
#include "engine/system/files.h"
#include "engine/system/module.h"

namespace trainer {
namespace {

namespace fs = std::filesystem;

const TransferFunctions& functions() {
#ifdef TRAINER_FETCH
  static const auto* const kFunctions = reinterpret_cast<decltype(&trainer_transfer_functions)>(
      module_function("libtrainer-fetch.so", "trainer_transfer_functions"))();
  return *kFunctions;
#else
  throw Error(
      ExitCode::usage, "this trainer was built without libcurl",
      "install libcurl4-openssl-dev, libarchive-dev and libssl-dev and build again with -Dfetch=enabled");
#endif
}

/// Held by the one process that fetches into a folder.
class FolderLock {
 public:
  explicit FolderLock(const fs::path& folder)
      : path_(folder / ".fetching"), file_(::open(path_.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0666)) {
    if (file_.number() < 0)
      throw Error(ExitCode::usage, fmt::format("cannot write into {}", folder.string()),
                  "--to names another directory");
    if (::flock(file_.number(), LOCK_EX | LOCK_NB) != 0)
      throw Error(ExitCode::usage, fmt::format("another process fetches into {}", folder.string()),
                  "wait for it");
  }
  ~FolderLock() {
    std::error_code ignored;
    fs::remove(path_, ignored);
  }
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  fs::path path_;
  Descriptor file_;
};

std::int64_t size_of(const fs::path& path) {
  std::error_code error;
  const auto size = fs::file_size(path, error);
  return error ? -1 : static_cast<std::int64_t>(size);
}

bool is_present(const PublicFile& file, const fs::path& folder) {
  if (file.members.empty())
    return size_of(folder / file.name) == file.bytes && functions().sha256(folder / file.name) == file.sha256;
  return std::ranges::all_of(file.members,
                             [&](const std::string& member) { return size_of(folder / member) > 0; });
}

/// Brings `partial` to the published bytes of a file.
void download(const PublicFile& file, const fs::path& partial,
              const std::function<void(const FetchEvent&)>& report) {
  std::string last_reason;
  for (const std::string& url : file.urls) {
    try {
      if (size_of(partial) > file.bytes) fs::remove(partial);
      if (size_of(partial) < file.bytes)
        functions().download(url, file.bytes, partial, [&](std::int64_t bytes) {
          report({.kind = FetchEvent::Kind::arriving, .file = file, .bytes = bytes});
        });
      const std::string sum = functions().sha256(partial);
      if (sum == file.sha256) return;
      fs::remove(partial);
      throw Error(ExitCode::data, fmt::format("SHA-256 is {}, not {}", sum, file.sha256));
    } catch (const Error& error) {
      const std::string reason = fmt::format("{}: {}", url, error.diagnostics().front().what);
      report({.kind = FetchEvent::Kind::failed_mirror, .file = file, .reason = reason});
      last_reason = reason;
    }
  }
  throw Error(ExitCode::data,
              {Diagnostic{.what = fmt::format("cannot fetch {}", file.name),
                          .notes = {last_reason},
                          .help = fmt::format("download it with another program into {}{}",
                                              partial.parent_path().string(),
                                              file.members.empty() ? "" : " and unpack it there")}});
}

}  // namespace

fs::path data_directory() {
  for (const auto& [variable, below] : {std::pair("TRAINER_DATA", ""), std::pair("HOME", ".cache/trainer")})
    if (const char* const value = std::getenv(variable); value != nullptr && *value != '\0')
      return fs::path(value) / below;
  return "datasets";
}

void fetch(const PublicSet& set, const fs::path& folder,
           const std::function<void(const FetchEvent&)>& report) {
  std::error_code error;
  fs::create_directories(folder, error);
  const FolderLock lock(folder);
  for (const PublicFile& file : set.files) {
    if (is_present(file, folder)) {
      report({.kind = FetchEvent::Kind::present, .file = file});
      continue;
    }
    const fs::path partial = folder / (file.name + ".part");
    download(file, partial, report);
    if (file.members.empty()) {
      fs::rename(partial, folder / file.name);
    } else {
      functions().unpack(partial, file.members, folder);
      fs::remove(partial);
    }
    report({.kind = FetchEvent::Kind::fetched, .file = file, .bytes = file.bytes});
  }
}

}  // namespace trainer
