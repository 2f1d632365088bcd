#include "cli/commands/new_directory.h"

#include <fmt/format.h>

#include "engine/core/error.h"

namespace trainer {

NewDirectory::NewDirectory(const std::filesystem::path& directory)
    : directory_(directory), partial_(directory.string() + ".partial") {
  std::error_code error;
  if (std::filesystem::exists(std::filesystem::symlink_status(directory_, error)))
    throw Error(ExitCode::usage, fmt::format("{} exists already", directory_.string()),
                "-o DIR puts it elsewhere");
  std::filesystem::remove_all(partial_, error);
  std::filesystem::create_directories(partial_, error);
  check(error);
}

NewDirectory::~NewDirectory() {
  std::error_code ignored;
  if (!is_complete_) std::filesystem::remove_all(partial_, ignored);
}

void NewDirectory::commit() {
  std::error_code error;
  std::filesystem::rename(partial_, directory_, error);
  check(error);
  is_complete_ = true;
}

void NewDirectory::check(const std::error_code& error) const {
  if (error)
    throw Error(ExitCode::failure, fmt::format("cannot write {}: {}", directory_.string(), error.message()));
}

}  // namespace trainer
