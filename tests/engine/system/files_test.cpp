#include "engine/system/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>

#include "tests/support/temporary_folder.h"

namespace trainer {
namespace {

using Catch::Matchers::Contains;

/// For as long as it lives, no file of this process grows beyond `bytes`; writing on fails as on a full disk.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  void (*handler_)(int);
  rlimit before_{};
};

std::ptrdiff_t files_in(const std::filesystem::path& folder) {
  return std::distance(std::filesystem::directory_iterator(folder), {});
}

}  // namespace

TEST_CASE("a written file is read back and no other file is left", "[core]") {
  const TemporaryFolder folder;
  write_file(folder.path() / "a", "first");
  write_file(folder.path() / "a", "second");
  CHECK(read_file(folder.path() / "a", ExitCode::data, 6) == "second");
  CHECK(files_in(folder.path()) == 1);
}

TEST_CASE("a write that the disk refuses leaves the old file and no other", "[core]") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "a";
  write_file(path, "old");
  {
    const FileSizeLimit limit(1000);
    CHECK_THROWS_WITH(write_file(path, std::string(5000, 'x')),
                      Contains(path.string()) && Contains("File too large"));
  }
  CHECK(read_file(path, ExitCode::data, 10) == "old");
  CHECK(files_in(folder.path()) == 1);
}

TEST_CASE("a file that is not committed never appears", "[core]") {
  const TemporaryFolder folder;
  {
    OutputFile file(folder.path() / "a");
    file.write(std::as_bytes(std::span("text")));
  }
  CHECK(files_in(folder.path()) == 0);
}

TEST_CASE("a link stays and its target is replaced", "[core]") {
  const TemporaryFolder folder;
  write_file(folder.path() / "target", "old");
  std::filesystem::create_symlink("target", folder.path() / "link");
  write_file(folder.path() / "link", "new");
  CHECK(std::filesystem::is_symlink(folder.path() / "link"));
  CHECK(read_file(folder.path() / "target", ExitCode::data, 10) == "new");
  CHECK(files_in(folder.path()) == 2);
}

TEST_CASE("a link to a file that does not exist yet stays", "[core]") {
  const TemporaryFolder folder;
  std::filesystem::create_symlink("target", folder.path() / "link");
  write_file(folder.path() / "link", "new");
  CHECK(std::filesystem::is_symlink(folder.path() / "link"));
  CHECK(read_file(folder.path() / "target", ExitCode::data, 10) == "new");
}

TEST_CASE("an open descriptor is written behind what its file has", "[core]") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "output";
  const Descriptor output(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  REQUIRE(::write(output.number(), "old ", 4) == 4);
  write_file(fmt::format("/dev/fd/{}", output.number()), "new");
  CHECK(read_file(path, ExitCode::data, 10) == "old new");
  CHECK(files_in(folder.path()) == 1);
}

TEST_CASE("a pipe is written and not replaced", "[core]") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "pipe";
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  const Descriptor reader(::open(path.c_str(), O_RDONLY | O_NONBLOCK));
  write_file(path, "text");
  std::string got(10, ' ');
  CHECK(::read(reader.number(), got.data(), got.size()) == 4);
  CHECK(got.starts_with("text"));
  CHECK(std::filesystem::is_fifo(path));
  CHECK(files_in(folder.path()) == 1);
}

TEST_CASE("a folder that does not exist is named with the system's reason", "[core]") {
  CHECK_THROWS_WITH(OutputFile("/no-such-folder/a"),
                    Contains("/no-such-folder/a: No such file or directory"));
  CHECK_THROWS_WITH(InputFile("/no-such-folder/a", ExitCode::data), Contains("/no-such-folder/a"));
}

TEST_CASE("only regular files are read: a folder or a pipe is an error at once", "[core]") {
  const TemporaryFolder folder;
  const auto pipe = folder.path() / "pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  CHECK_THROWS_WITH(InputFile(pipe, ExitCode::data), Contains("not a regular file"));
  CHECK_THROWS_WITH(InputFile(folder.path(), ExitCode::data), Contains("not a regular file"));
}

TEST_CASE("reading beyond the end or the limit is an error", "[core]") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "a";
  write_file(path, "1234");
  std::array<std::byte, 3> bytes{};
  CHECK_THROWS_WITH(InputFile(path, ExitCode::data).read(2, bytes), Contains("ends too soon"));
  CHECK_THROWS_WITH(read_file(path, ExitCode::data, 3), Contains("larger than 3 bytes"));
}

}  // namespace trainer
