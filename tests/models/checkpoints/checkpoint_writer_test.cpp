#include "models/checkpoints/checkpoint_writer.h"

#include <sys/resource.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "tests/models/training/placed_run.h"

namespace trainer {
namespace {

/// From the first step on this process can open one file, and no second beside it.
class OneFile final : public Hook {
 public:
  OneFile() { ::getrlimit(RLIMIT_NOFILE, &before_); }
  ~OneFile() override { ::setrlimit(RLIMIT_NOFILE, &before_); }
  void before_step(std::int64_t step) override {
    if (step > 0) return;
    const int next = ::dup(STDIN_FILENO);
    ::close(next);
    const rlimit limit{static_cast<rlim_t>(next) + 1, before_.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &limit);
  }

 private:
  rlimit before_{};
};

}  // namespace

TEST_CASE("where rank 0 itself cannot open the files of its first checkpoint, the error has the cause",
          "[training]") {
  OneFile hook;
  CHECK_THROWS_WITH(train(test_world(), {.data = test_world().size()},
                          {.layers = kMlp, .settings = std::string(kSgd) + ", steps: 1", .hook = &hook}),
                    Catch::Contains("cannot write ") && Catch::Contains("Too many open files"));
}

}  // namespace trainer
