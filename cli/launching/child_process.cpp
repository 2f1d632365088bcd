#include "cli/launching/child_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <system_error>
#include <utility>

#include "engine/core/error.h"
#include "engine/system/files.h"

namespace trainer {
namespace {

constexpr int kCannotStart = 127;

int code_of(int status) {
  if (WIFEXITED(status)) return WEXITSTATUS(status);
  // 130 stands for a saved run.
  return WTERMSIG(status) == SIGINT ? static_cast<int>(ExitCode::failure) : 128 + WTERMSIG(status);
}

/// Between fork and exec: only calls that are safe there.
[[noreturn]] void become(char* const* words, int output, const cpu_set_t* cores, pid_t parent) {
  // Ctrl-C reaches this process only by the parent.
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent) ::_exit(kCannotStart);
  if (cores) ::sched_setaffinity(0, sizeof *cores, cores);
  const int nothing = ::open("/dev/null", O_RDONLY);
  ::dup2(nothing, STDIN_FILENO);
  ::dup2(output, STDOUT_FILENO);
  ::dup2(output, STDERR_FILENO);
  ::execv("/proc/self/exe", words);
  ::_exit(kCannotStart);
}

}  // namespace

ChildProcess::ChildProcess(const Options& options) {
  const auto fail = [](const std::string& what) {
    throw Error(ExitCode::failure, fmt::format("{}: {}", what, std::generic_category().message(errno)));
  };
  const Descriptor output(
      ::open(options.output.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0666));
  if (output.number() < 0) fail("cannot write " + options.output.string());
  std::vector<std::string> words{"trainer"};
  words.insert(words.end(), options.words.begin(), options.words.end());
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  cpu_set_t cores;
  CPU_ZERO(&cores);
  for (const Core& core : options.cores)
    for (const int number : core.hardware_threads) CPU_SET(number, &cores);
  const pid_t parent = ::getpid();
  process_ = ::fork();
  if (process_ < 0) fail("cannot start a process");
  if (process_ == 0)
    become(pointers.data(), output.number(), options.cores.empty() ? nullptr : &cores, parent);
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : process_(std::exchange(other.process_, 0)), code_(other.code_) {}

ChildProcess::~ChildProcess() {
  if (process_ <= 0) return;
  ask_to_stop();
  while (::waitpid(process_, nullptr, 0) < 0 && errno == EINTR) continue;
}

std::optional<int> ChildProcess::poll() {
  int status = 0;
  if (process_ > 0 && ::waitpid(process_, &status, WNOHANG) == process_) {
    process_ = 0;
    code_ = code_of(status);
  }
  return code_;
}

void ChildProcess::ask_to_stop() const {
  if (process_ > 0) ::kill(process_, SIGTERM);
}

}  // namespace trainer
