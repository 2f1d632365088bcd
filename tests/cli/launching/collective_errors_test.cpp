#include "cli/launching/collective_errors.h"

#include <catch2/catch.hpp>
#include <system_error>

#include "tests/support/mpi_main.h"

namespace trainer {
namespace {

/// The failure that all ranks see if those for which `fails` is true throw; code ok without any.
Failure outcome(bool fails) {
  try {
    run_collectively(test_world(), [&] {
      if (fails) throw Error(ExitCode::data, "bad file of rank " + std::to_string(test_world().rank()));
    });
  } catch (...) {
    return current_failure();
  }
  return {.code = ExitCode::ok};
}

}  // namespace

TEST_CASE("work that succeeds everywhere throws nowhere", "[cli]") {
  CHECK(outcome(false).code == ExitCode::ok);
}

TEST_CASE("a failure of one rank is one of all, and rank 0 knows whose it was", "[cli]") {
  const int last = test_world().size() - 1;
  const Failure failure = outcome(test_world().rank() == last);
  CHECK(failure.code == ExitCode::data);
  const std::string text = "error: bad file of rank " + std::to_string(last);
  if (test_world().rank() == 0)
    CHECK(failure.text == (last == 0 ? text : "rank " + std::to_string(last) + ": " + text));
  if (test_world().rank() > 0 && test_world().rank() != last) CHECK(failure.text.empty());
}

TEST_CASE("a failure of all ranks is reported once, without a rank", "[cli]") {
  const Failure failure = outcome(true);
  CHECK(failure.code == ExitCode::data);
  if (test_world().rank() == 0) CHECK(failure.text == "error: bad file of rank 0");
}

TEST_CASE("a thread that the system refuses is explained", "[cli]") {
  try {
    throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again));
  } catch (...) {
    CHECK(current_failure().text.find("error: the system allows no more threads\nhelp: ") == 0);
  }
}

}  // namespace trainer
