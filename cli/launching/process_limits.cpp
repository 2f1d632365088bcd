#include "cli/launching/process_limits.h"

#include <fmt/format.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <new>
#include <string_view>

#include "engine/core/error.h"

namespace trainer {
namespace {

constexpr const char* kThreads = "OPENBLAS_NUM_THREADS";
constexpr const char* kOneThread = "OPENBLAS_NUM_THREADS=1";
constexpr rlim_t kStack = rlim_t{8} << 20, kLeastStack = rlim_t{1} << 20;

// These run before the constructors of any library, so they use no more than system calls.
char** early_arguments = nullptr;
char** early_environment = nullptr;
struct sigaction interrupt_before {};

bool is_threads_variable(const char* variable) {
  const std::size_t length = std::strlen(kThreads);
  return std::strncmp(variable, kThreads, length) == 0 && variable[length] == '=';
}

/// Starts this program again in this process, with OpenBLAS on one thread. Returns if that is done already or
/// not possible.
void restart_with_one_blas_thread() {
  constexpr std::size_t kMax = 4096;
  char* variables[kMax + 2];
  std::size_t count = 0;
  for (char** variable = early_environment; *variable; ++variable) {
    if (std::strcmp(*variable, kOneThread) == 0) return;
    if (is_threads_variable(*variable)) continue;
    if (count == kMax) return;
    variables[count++] = *variable;
  }
  variables[count++] = const_cast<char*>(kOneThread);
  variables[count] = nullptr;
  ::execve("/proc/self/exe", early_arguments, variables);
}

void write_error(std::string_view text) {
  if (::write(STDERR_FILENO, text.data(), text.size()) < 0) return;  // there is no other place for it
}

void on_early_interrupt(int, siginfo_t* information, void*) {
  if (information->si_pid == ::getpid()) {
    // The new program image starts with this mask; SIGINT is blocked in its handler.
    sigset_t interrupt;
    sigemptyset(&interrupt);
    sigaddset(&interrupt, SIGINT);
    sigprocmask(SIG_UNBLOCK, &interrupt, nullptr);
    restart_with_one_blas_thread();
    write_error(
        "error: the system allows OpenBLAS no thread\nhelp: a higher limit of processes (ulimit -u)\n");
  } else {
    if (interrupt_before.sa_handler == SIG_IGN) return;
    write_error("error: interrupted before training began\n");
  }
  ::_exit(static_cast<int>(ExitCode::failure));
}

/// Constructors of static objects have no caller that could catch std::bad_alloc.
void on_early_exhaustion() {
  write_error(
      "error: not enough memory to start the program\nhelp: a higher limit of memory (ulimit -v, ulimit "
      "-d)\n");
  ::_exit(static_cast<int>(ExitCode::failure));
}

bool is_limited(int resource) {
  rlimit limit{};
  return ::getrlimit(resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

void guard_start(int /*count*/, char** arguments, char** environment) {
  early_arguments = arguments;
  early_environment = environment;
  std::set_new_handler(on_early_exhaustion);
  struct sigaction action {};
  action.sa_sigaction = on_early_interrupt;
  action.sa_flags = SA_SIGINFO;
  ::sigaction(SIGINT, &action, &interrupt_before);
  if (!is_limited(RLIMIT_AS) && !is_limited(RLIMIT_DATA)) return;
  for (char** variable = environment; *variable; ++variable)
    if (is_threads_variable(*variable)) return;
  ::sigaction(SIGINT, &interrupt_before, nullptr);
  restart_with_one_blas_thread();
}

// The dynamic linker calls these before it initialises libraries.
[[gnu::section(".preinit_array"), gnu::used]] void (*const early_start)(int, char**, char**) = guard_start;

}  // namespace

void prepare_stacks() {
  std::set_new_handler(nullptr);  // from here on std::bad_alloc is caught
  // Independent of the limit: threads have buffers on their stacks, too.
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) == 0) {
    if (pthread_attr_setstacksize(&attributes, kStack) == 0) pthread_setattr_default_np(&attributes);
    pthread_attr_destroy(&attributes);
  }
  rlimit stack{};
  if (::getrlimit(RLIMIT_STACK, &stack) != 0 || stack.rlim_cur >= kStack) return;
  // The main thread's stack grows up to the limit of the moment.
  rlimit raised = stack;
  raised.rlim_cur = std::min(kStack, stack.rlim_max);
  if (::setrlimit(RLIMIT_STACK, &raised) != 0) raised = stack;
  if (raised.rlim_cur >= kLeastStack) return;
  throw Error(ExitCode::failure,
              fmt::format("the stack is limited to {} KiB, and {} KiB are needed", raised.rlim_cur / 1024,
                          kLeastStack / 1024),
              fmt::format("ulimit -s {}", kStack / 1024));
}

void restore_interrupts() { ::sigaction(SIGINT, &interrupt_before, nullptr); }

}  // namespace trainer
