// Faults of machines and of those who start them: each is found, named, and ends with its code in time.
#include <catch2/catch.hpp>

#include "tests/end_to_end/small_run.h"

namespace trainer {
namespace {

namespace fs = std::filesystem;

/// Two groups of processes with different words in one job.
std::string together(const std::string& first, const std::string& second) {
  return "$MPIRUN -n 1 " + first + " : -n 2 " + second;
}

}  // namespace

TEST_CASE("a rank with another configuration, data or program is named before training", "[guards]") {
  const SmallRun run;
  fs::create_directory(run.path("other"));
  write_small_mnist(run.path("other"), 48, 20);
  write_text(run.path("b.yaml"), replaced(kSmallRun, "lr: 0.1", "lr: 0.2"));
  write_text(run.path("c.yaml"), replaced(kSmallRun, ", path: set", ""));
  REQUIRE(run.shell("cp $TRAINER other-trainer && printf x >> other-trainer").code == 0);
  struct Case {
    std::string first, second;
    int code;
    std::string message, mine, theirs;
  };
  const std::vector<Case> cases{
      {"$TRAINER --datapar a.yaml", "$TRAINER --datapar b.yaml", 2,
       "the ranks do not have the same configuration", "lr: 0.1", "lr: 0.2"},
      {"$TRAINER --datapar a.yaml", "$TRAINER --modelpar a.yaml", 2,
       "the ranks do not have the same command line", "--datapar", "--modelpar"},
      {"env TRAINER_DATA=set $TRAINER --datapar c.yaml", "env TRAINER_DATA=other $TRAINER --datapar c.yaml",
       3, "the ranks do not have the same data", "40 train", "48 train"},
      {"env TRAINER_INSTRUCTIONS=baseline $TRAINER --datapar a.yaml", "$TRAINER --datapar a.yaml", 4,
       "the ranks do not have the same kernels", "", " kernels"},
      {"$TRAINER --datapar a.yaml", "./other-trainer --datapar a.yaml", 4,
       "the ranks do not have the same program", "build ", "build "},
  };
  for (const Case& fault : cases) {
    const ProgramResult result = run.shell(together(fault.first, fault.second));
    INFO(fault.message << "\n" << result.err);
    CHECK(result.code == fault.code);
    CHECK(result.err.find("error: " + fault.message) == 0);
    CHECK(result.err.find("\n   = rank 0 on ") != std::string::npos);
    CHECK(result.err.find("\n   = ranks 1, 2 on ") != std::string::npos);
    CHECK(result.err.find(fault.mine) != std::string::npos);
    CHECK(result.err.find(fault.theirs) != std::string::npos);
    CHECK(occurrences(result.err, "error:") == 1);
    CHECK_FALSE(fs::exists(run.path("runs")));
  }
}

}  // namespace trainer
