#include "tests/support/mpi_main.h"

#include <unistd.h>

#include <csignal>
#include <cstring>
#include <iostream>
#include <sstream>

#include "engine/parallel/mpi_world.h"
#define CATCH_CONFIG_RUNNER
#define CATCH_CONFIG_NO_POSIX_SIGNALS  // a rank that is ended because another failed has nothing to report
#include <catch2/catch.hpp>

namespace trainer {
namespace {

constexpr unsigned kSecondsPerTest = 100;  // far more than any takes: the machine may be busy

Communicator* world = nullptr;
std::ostringstream quiet_output;  // what the ranks beyond 0 would print
char current_test[200] = "";

/// Ends the program from a rank that hangs, naming the test.
void end_hanging_test(int) {
  const char words[] = "\na test took too long: ";
  const bool written = write(STDERR_FILENO, words, sizeof words - 1) > 0 &&
                       write(STDERR_FILENO, current_test, std::strlen(current_test)) > 0 &&
                       write(STDERR_FILENO, "\n", 1) > 0;
  _exit(written ? 1 : 2);
}

/// One rank's failure would leave the others waiting in a collective for ever: it ends them all.
struct EndAllOnFailure : Catch::TestEventListenerBase {
  using TestEventListenerBase::TestEventListenerBase;

  void testCaseStarting(const Catch::TestCaseInfo& test) override {
    std::strncpy(current_test, test.name.c_str(), sizeof current_test - 1);
    alarm(kSecondsPerTest);
  }
  void sectionEnded(const Catch::SectionStats& section) override {
    if (section.assertions.failed == 0) return;
    std::cout.flush();
    std::cerr << quiet_output.str() << "\nfailed on rank " << world->rank() << " of " << world->size()
              << "\n";
    world->abort(ExitCode::failure);
  }
  void testCaseEnded(const Catch::TestCaseStats&) override { alarm(0); }
};
CATCH_REGISTER_LISTENER(EndAllOnFailure)

}  // namespace

Communicator& test_world() { return *world; }

}  // namespace trainer

int main(int argc, char** argv) {
  const auto world = trainer::start_world();
  trainer::world = world.get();
  std::signal(SIGALRM, trainer::end_hanging_test);
  std::streambuf* const terminal = std::cout.rdbuf();
  if (world->rank() > 0) std::cout.rdbuf(trainer::quiet_output.rdbuf());
  const int failures = Catch::Session().run(argc, argv);
  std::cout.rdbuf(terminal);
  return failures;
}
