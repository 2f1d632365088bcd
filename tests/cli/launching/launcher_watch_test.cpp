#include "cli/launching/launcher_watch.h"

#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <string>

namespace trainer {
namespace {

using namespace std::chrono_literals;

constexpr LauncherWatch::Patience kShort{.to_start = 1500ms, .silent = 600ms, .to_end = 300ms};

struct End {
  bool was_killed = false;
  std::chrono::duration<double> time{};
};

/// Runs a script of sh as a launcher. `heartbeat`: prints one.
End run_launcher(const std::string& script) {
  RankSigns signs;
  LauncherOutput output([&](const std::string& line) { signs.note(line); });
  const auto start = std::chrono::steady_clock::now();
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ::setpgid(0, 0);
    output.connect();
    const std::string functions =
        "heartbeat() { printf '\\034heartbeat\\n' >&2; }; survivor() { printf '\\034survivor 0 2 h\\n' >&2; "
        "}; ";
    ::execlp("sh", "sh", "-c", (functions + script).c_str(), nullptr);
    ::_exit(127);
  }
  ::setpgid(child, child);
  output.start();
  End end;
  {
    const LauncherWatch watch(child, signs, output, kShort);
    siginfo_t information{};
    ::waitid(P_PID, static_cast<id_t>(child), &information, WEXITED | WNOWAIT);
    end.was_killed = watch.has_killed();
  }
  ::waitpid(child, nullptr, 0);
  end.time = std::chrono::steady_clock::now() - start;
  return end;
}

/// Ranks elsewhere: processes that are not below the launcher, whose lines come through it.
const std::string kRemoteRanks =
    "(setsid sh -c 'for i in 1 2 3 4 5 6 7 8 9 10 11 12; do "
    "printf \"\\034heartbeat\\n\" >&2; sleep 0.2; done' &) ; ";

}  // namespace

TEST_CASE("a launcher without local children is left alone while heartbeats of ranks come", "[launching]") {
  const End end = run_launcher(kRemoteRanks + "exec sleep 2");
  CHECK_FALSE(end.was_killed);
  CHECK(end.time > 1.9s);
}

TEST_CASE("a launcher is killed soon after its ranks have reported that the job breaks down", "[launching]") {
  // A child that is no rank, such as ssh to a host that is cut off, does not keep it alive.
  const End end = run_launcher("heartbeat; survivor; sleep 20; true");
  CHECK(end.was_killed);
  CHECK(end.time < 5s);
}

TEST_CASE("a launcher is killed when its ranks fall silent, and when it starts none", "[launching]") {
  const std::string script = GENERATE("heartbeat; sleep 20; true", "exec sleep 20");
  const End end = run_launcher(script);
  CHECK(end.was_killed);
  CHECK(end.time < 8s);
}

TEST_CASE("a launcher that still starts other programs has time", "[launching]") {
  CHECK_FALSE(run_launcher("sleep 2.5; true").was_killed);
}

}  // namespace trainer
