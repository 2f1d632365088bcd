#include "cli/launching/private_folder.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>

#include "tests/support/temporary_folder.h"

namespace trainer {

namespace fs = std::filesystem;

TEST_CASE("a job's folder is removed with its last user", "[launching]") {
  const TemporaryFolder parent;
  fs::path path;
  {
    const PrivateFolder first = PrivateFolder::create(parent.path());
    path = first.path();
    REQUIRE(fs::is_directory(path));
    {
      const PrivateFolder second = PrivateFolder::join(path);
      CHECK(second.path() == path);
    }
    CHECK(fs::is_directory(path));
  }
  CHECK_FALSE(fs::exists(path));
}

TEST_CASE("the folder of a job that was killed is removed by the next one, that of a living job is not",
          "[launching]") {
  const TemporaryFolder parent;
  const PrivateFolder living = PrivateFolder::create(parent.path());
  int ready[2];
  REQUIRE(::pipe(ready) == 0);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    const PrivateFolder folder = PrivateFolder::create(parent.path());
    if (::write(ready[1], "x", 1) != 1) ::_exit(1);
    ::pause();
  }
  char byte = 0;
  REQUIRE(::read(ready[0], &byte, 1) == 1);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  CHECK(std::distance(fs::directory_iterator(parent.path()), {}) == 2);
  { const PrivateFolder next = PrivateFolder::create(parent.path()); }
  CHECK(std::distance(fs::directory_iterator(parent.path()), {}) == 1);
  CHECK(fs::is_directory(living.path()));
}

TEST_CASE("a folder that others may change, or a link, is not used", "[launching]") {
  const TemporaryFolder parent;
  const fs::path open = parent.path() / "open", link = parent.path() / "link";
  fs::create_directory(open);
  fs::permissions(open, fs::perms::all);
  CHECK(PrivateFolder::join(open).path().empty());
  fs::permissions(open, fs::perms::owner_all);
  fs::create_directory_symlink(open, link);
  CHECK(PrivateFolder::join(link).path().empty());
  CHECK(fs::is_directory(open));
}

}  // namespace trainer
