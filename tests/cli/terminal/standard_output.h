#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "engine/system/files.h"
#include "tests/support/temporary_folder.h"

namespace trainer {

/// What `write` leaves in a file that is standard output meanwhile.
template <class Write>
std::string output_of(const Write& write) {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "out";
  std::fflush(stdout);
  const Descriptor before(::dup(STDOUT_FILENO)), opened(::open(file.c_str(), O_CREAT | O_WRONLY, 0600));
  ::dup2(opened.number(), STDOUT_FILENO);
  write();
  std::fflush(stdout);
  ::dup2(before.number(), STDOUT_FILENO);
  return read_file(file, ExitCode::failure, 1000);
}

}  // namespace trainer
