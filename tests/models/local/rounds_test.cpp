// Where rounds of local SGD end, and what is due there.
#include <catch2/catch.hpp>
#include <vector>

#include "models/training/progress.h"
#include "models/training/settings.h"

namespace trainer {

TEST_CASE("rounds begin anew with each epoch and end with the run", "[local]") {
  Progress run{.steps_per_epoch = 7, .total_steps = 17, .round = 3};
  std::vector<std::int64_t> ends, lengths;
  while (run.step < run.total_steps) {
    run.step = run.round_end();
    ends.push_back(run.step);
    lengths.push_back(run.round_steps(run.step));
  }
  CHECK(ends == std::vector<std::int64_t>{3, 6, 7, 10, 13, 14, 17});
  CHECK(lengths == std::vector<std::int64_t>{3, 3, 1, 3, 3, 1, 3});
}

TEST_CASE("a round that is longer than an epoch ends with it, and one step is a round without local SGD",
          "[local]") {
  CHECK(Progress{.steps_per_epoch = 7, .total_steps = 17, .round = 100}.round_end() == 7);
  CHECK(Progress{.steps_per_epoch = 7, .total_steps = 17, .step = 9}.round_end() == 10);
  CHECK(Progress{.steps_per_epoch = 7, .total_steps = 17}.round_steps(10) == 1);
}

TEST_CASE("what was due within a round is due at its end", "[local]") {
  using Kind = Cadence::Kind;
  const Cadence every{Kind::steps, 4};
  CHECK(every.due(6, 7, 17, 3));
  CHECK(every.due(4, 7, 17, 1));
  CHECK_FALSE(every.due(7, 7, 17, 1));
  CHECK_FALSE(every.due(3, 7, 17, 3));
  CHECK(Cadence{Kind::epochs}.due(14, 7, 17, 1));
  CHECK_FALSE(Cadence{Kind::epochs}.due(13, 7, 17, 3));
}

}  // namespace trainer
