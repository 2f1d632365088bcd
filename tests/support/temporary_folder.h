#pragma once

#include <stdlib.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>

namespace trainer {

/// An empty folder for one test, deleted with all it holds.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (parent() / "trainer-test-XXXXXX").string();
    if (!::mkdtemp(name.data())) throw std::runtime_error("cannot create " + name);
    path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  /// In memory where there is room: each checkpoint of a run waits until the disk has it.
  static std::filesystem::path parent() {
    constexpr std::uintmax_t kRoom = std::uintmax_t{1} << 30;
    std::error_code error;
    const std::filesystem::path memory = "/dev/shm";
    const bool has_room = std::filesystem::space(memory, error).available > kRoom && !error;
    return has_room && !std::getenv("TMPDIR") ? memory : std::filesystem::temp_directory_path();
  }

  std::filesystem::path path_;
};

}  // namespace trainer
