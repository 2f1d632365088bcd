#include "cli/launching/launcher_output.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <vector>

#include "engine/system/exit_reason.h"
#include "engine/system/files.h"
#include "engine/system/stop_signals.h"
#include "tests/support/temporary_folder.h"

namespace trainer {
namespace {

/// A descriptor of this process that leads to a file for a while.
class Redirected {
 public:
  Redirected(int number, const std::filesystem::path& file) : number_(number), before_(::dup(number)) {
    const Descriptor opened(::open(file.c_str(), O_CREAT | O_WRONLY, 0600));
    ::dup2(opened.number(), number_);
  }
  ~Redirected() { ::dup2(before_.number(), number_); }

 private:
  int number_;
  Descriptor before_;
};

}  // namespace

TEST_CASE("private lines of processes are kept, and all else they write passes through", "[launching]") {
  const TemporaryFolder folder;
  std::vector<std::string> lines;
  LauncherOutput output([&](const std::string& line) { lines.push_back(line); });
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    output.connect();
    const std::string text = "warning: a\n" + LauncherOutput::private_line("run r") + "no end" +
                             LauncherOutput::private_line("survivor 1 1 vm");
    // In pieces of any size.
    for (const char letter : text)
      if (::write(STDERR_FILENO, &letter, 1) != 1) ::_exit(1);
    if (::write(STDOUT_FILENO, "a\x1c\n", 3) != 3) ::_exit(1);
    prepare_exit_reason(LauncherOutput::private_line("survivor 0 1 vm"));
    StopSignals signals(false);
    ::raise(SIGTERM);
    ::raise(SIGTERM);
    ::_exit(0);
  }
  {
    const Redirected out(STDOUT_FILENO, folder.path() / "out"), error(STDERR_FILENO, folder.path() / "error");
    output.start();
    ::waitpid(child, nullptr, 0);
    output.finish();
  }
  CHECK(read_file(folder.path() / "error", ExitCode::failure, 1000) == "warning: a\nno end");
  CHECK(read_file(folder.path() / "out", ExitCode::failure, 1000) == "a\x1c\n");
  CHECK(lines == std::vector<std::string>{"run r", "survivor 1 1 vm", "survivor 0 1 vm"});
  CHECK_FALSE(output.has_lost_output());
}

TEST_CASE("results that cannot be written are noticed, messages that cannot be written are not",
          "[launching]") {
  LauncherOutput output([](const std::string&) {});
  const int number = GENERATE(STDOUT_FILENO, STDERR_FILENO);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    output.connect();
    ::_exit(::write(number, "a\n", 2) == 2 ? 0 : 1);
  }
  {
    const Redirected full(number, "/dev/full");
    output.start();
    ::waitpid(child, nullptr, 0);
    output.finish();
  }
  CHECK(output.has_lost_output() == (number == STDOUT_FILENO));
}

}  // namespace trainer
