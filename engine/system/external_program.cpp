#include "engine/system/external_program.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <sstream>
#include <string_view>
#include <system_error>

#include "engine/core/error.h"
#include "engine/system/files.h"

namespace trainer {
namespace {

/// True for variables of a launcher or of this program's, but not for those that the user sets for either.
bool describes_a_rank(std::string_view variable) {
  for (const std::string_view start :
       {"OMPI_", "PMIX_", "PMI_", "HYDI_", "HYDRA_", "MPI_LOCAL",
        "TRAINER_LAUNCHED=", "TRAINER_SHARED_MEMORY=", "TRAINER_RESTART=", "TRAINER_START="})
    if (variable.starts_with(start)) return !variable.starts_with("OMPI_ALLOW_RUN_AS_ROOT");
  return false;
}

std::vector<char*> environment_of_program() {
  std::vector<char*> variables;
  for (char** variable = environ; *variable != nullptr; ++variable)
    if (!describes_a_rank(*variable)) variables.push_back(*variable);
  variables.push_back(nullptr);
  return variables;
}

/// Between fork and exec: only calls that are safe there.
[[noreturn]] void become(const char* program, char* const* words, char* const* environment, int output,
                         int errors, int report, pid_t parent) {
  // Ctrl-C reaches this process only by the parent.
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);
  for (const int ignored : {SIGPIPE, SIGXFSZ, SIGUSR1}) ::signal(ignored, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  const int nothing = ::open("/dev/null", O_RDONLY);
  ::dup2(nothing, STDIN_FILENO);
  ::dup2(output, STDOUT_FILENO);
  ::dup2(errors, STDERR_FILENO);
  ::execve(program, words, environment);
  const int problem = errno;
  [[maybe_unused]] const ssize_t written = ::write(report, &problem, sizeof problem);
  ::_exit(1);
}

Descriptor new_file(const std::filesystem::path& path) {
  Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666));
  if (file.number() < 0)
    throw Error(ExitCode::failure,
                "cannot write " + path.string() + ": " + std::generic_category().message(errno));
  return file;
}

}  // namespace

ExternalProgram::ExternalProgram(const Options& options) {
  const auto fail = [&](int error) {
    throw Error(ExitCode::failure,
                "cannot start " + options.words.front() + ": " + std::generic_category().message(error));
  };
  const std::string program = find_program(options.words.front()).string();
  if (program.empty()) fail(ENOENT);
  const Descriptor output = new_file(options.output), errors = new_file(options.errors);
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) fail(errno);
  const Descriptor read_end(ends[0]);
  Descriptor write_end(ends[1]);
  std::vector<std::string> words = options.words;
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  std::vector<char*> environment = environment_of_program();
  const pid_t parent = ::getpid();
  process_ = ::fork();
  if (process_ < 0) fail(errno);
  if (process_ == 0)
    become(program.c_str(), pointers.data(), environment.data(), output.number(), errors.number(),
           write_end.number(), parent);
  write_end.close();
  int problem = 0;
  ssize_t count = 0;
  while ((count = ::read(read_end.number(), &problem, sizeof problem)) < 0 && errno == EINTR) continue;
  if (count != sizeof problem) return;
  while (::waitpid(process_, nullptr, 0) < 0 && errno == EINTR) continue;
  process_ = 0;
  fail(problem);
}

ExternalProgram::~ExternalProgram() {
  if (process_ <= 0) return;
  ::kill(-process_, SIGKILL);
  while (::waitpid(process_, nullptr, 0) < 0 && errno == EINTR) continue;
}

std::optional<int> ExternalProgram::poll() {
  int status = 0;
  if (process_ > 0 && ::waitpid(process_, &status, WNOHANG) == process_) {
    process_ = 0;
    code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  return code_;
}

std::filesystem::path find_program(const std::string& name) {
  const auto may_run = [](const std::filesystem::path& path) {
    std::error_code ignored;
    return std::filesystem::is_regular_file(path, ignored) && ::access(path.c_str(), X_OK) == 0;
  };
  if (name.find('/') != std::string::npos) return may_run(name) ? std::filesystem::path(name) : "";
  const char* const path = std::getenv("PATH");
  std::istringstream folders(path != nullptr ? path : "/usr/bin:/bin");
  for (std::string folder; std::getline(folders, folder, ':');)
    if (const std::filesystem::path file = std::filesystem::path(folder.empty() ? "." : folder) / name;
        may_run(file))
      return file;
  return {};
}

}  // namespace trainer
