#include "cli/launching/restart.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <cstdlib>

#include "cli/launching/launcher_output.h"
#include "engine/system/exit_reason.h"
#include "engine/system/files.h"
#include "engine/system/stop_signals.h"
#include "tests/support/temporary_folder.h"

namespace trainer {

TEST_CASE("those that are left go on, one fewer where nobody knows, in whole columns of a mesh", "[cli]") {
  Arguments plain, mesh;
  mesh.mesh = MeshShape{.data = 2, .model = 2};
  CHECK(ranks_to_go_on(plain, 4, {}) == 3);
  CHECK(ranks_to_go_on(plain, 4, {.ranks = 2}) == 2);
  // All were ended, though one was ill.
  CHECK(ranks_to_go_on(plain, 4, {.ranks = 4}) == 3);
  CHECK(ranks_to_go_on(plain, 1, {}) == 1);
  CHECK(ranks_to_go_on(mesh, 4, {}) == 2);
  CHECK(ranks_to_go_on(mesh, 8, {.ranks = 5}) == 4);
  CHECK(ranks_to_go_on(mesh, 2, {}) == 1);
}

TEST_CASE("a launcher learns which run it was and who is left where", "[cli]") {
  CHECK(told_by({}).ranks == 0);
  CHECK_FALSE(told_by({"run stopped"}).stopped);
  CHECK(told_by({"run runs/a", "stopped"}).stopped);
  CHECK(told_by({"run runs/a", "finished"}).finished);
  const Told alone = told_by({"run runs/a", "left 0 1 vm", "left 2 1 vm", "left 2 1 vm"});
  CHECK(alone.run == "runs/a");
  CHECK(alone.ranks == 2);
  CHECK(alone.hosts.empty());
  const Told spread = told_by({"left 5 3 h3", "run my runs/b", "left 0 3 h1", "left 1 3 h1", "left x"});
  CHECK(spread.run == "my runs/b");
  CHECK(spread.ranks == 3);
  REQUIRE(spread.hosts.size() == 2);
  CHECK((spread.hosts[0].host == "h1" && spread.hosts[0].ranks == 2));
  CHECK((spread.hosts[1].host == "h3" && spread.hosts[1].ranks == 1));
}

TEST_CASE("private lines of processes are kept, and all else they write is handed on as it is", "[cli]") {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "error";
  LauncherOutput output;
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ::dup2(output.input(), STDERR_FILENO);
    const std::string text = "warning: a\n" + LauncherOutput::private_line("run r") + "no end" +
                             LauncherOutput::private_line("left 1 1 vm");
    // In pieces of any size.
    for (const char letter : text)
      if (::write(STDERR_FILENO, &letter, 1) != 1) ::_exit(1);
    prepare_exit_reason(LauncherOutput::private_line("left 0 1 vm"));
    StopSignals signals;
    ::raise(SIGTERM);
    ::raise(SIGTERM);
    ::_exit(0);
  }
  const int before = ::dup(STDERR_FILENO);
  const int own = ::open(file.c_str(), O_CREAT | O_WRONLY, 0600);
  ::dup2(own, STDERR_FILENO);
  output.start();
  ::waitpid(child, nullptr, 0);
  const std::vector<std::string> lines = output.finish();
  std::fflush(stderr);
  ::dup2(before, STDERR_FILENO);
  ::close(before);
  ::close(own);
  CHECK(read_file(file, ExitCode::failure, 1000) == "warning: a\nno end");
  CHECK(lines == std::vector<std::string>{"run r", "left 1 1 vm", "left 0 1 vm"});
}

TEST_CASE("a process that is started again goes on with the run that was told", "[cli]") {
  Arguments arguments{.files = {"a.yaml"}, .mesh = MeshShape{.data = 2, .model = 2}, .name = "b"};
  apply_restart(arguments, 4);
  CHECK(arguments.name == "b");
  restart_from("runs/a");
  apply_restart(arguments, 2);
  CHECK(arguments.files == std::vector<std::string>{"runs/a"});
  CHECK(arguments.name.empty());
  CHECK((arguments.mesh->data == 1 && arguments.mesh->model == 2));
  restart_from("");
  arguments = {.files = {"a.yaml"}, .name = "b"};
  apply_restart(arguments, 3);
  CHECK(arguments.files == std::vector<std::string>{"a.yaml"});
  ::unsetenv("TRAINER_RESTART");
}

TEST_CASE("a process that is started again counts its time from the job's start", "[cli]") {
  using namespace std::chrono_literals;
  const auto now = std::chrono::steady_clock::now();
  CHECK(start_of_job(now) == now);
  note_start(now - 100s);
  CHECK(std::chrono::abs(start_of_job(now) - (now - 100s)) < 2s);
  ::unsetenv("TRAINER_START");
}

}  // namespace trainer
