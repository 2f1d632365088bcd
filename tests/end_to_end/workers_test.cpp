// --workers: threads that have rows and gradients of their own, and others that compute parts of layers.
#include <catch2/catch.hpp>

#include "tests/end_to_end/small_run.h"

namespace trainer {
namespace {

const std::string kWeights = "/checkpoints/last/model.safetensors";

// Products and a convolution that are long enough to be divided; 10 MiB of parameters.
const std::string kWide =
    R"(data: {dataset: {synthetic: {shape: [8, 16, 16], classes: 4, train: 32, test: 4}}}
model:
  layers:
    - conv: {filters: 16, kernel: 3, activation: tanh}
    - dense: {units: 512, activation: relu}
    - dense: {units: 512, activation: relu}
    - dense: 4
  loss: softmax_cross_entropy
train: {steps: 3, batch: 16, optimizer: {sgd: {lr: 0.01, momentum: 0.9}}}
)";

}  // namespace

TEST_CASE("threads that are no workers change no bit of the weights, on 1 and 2 ranks", "[workers]") {
  const SmallRun run;
  write_text(run.path("w.yaml"), kWide);
  const int ranks = GENERATE(1, 2);
  const auto weights_of = [&](const std::string& out, std::vector<std::string> placement) {
    placement.insert(placement.begin(), {"w.yaml", "--datapar", "-q", "-o", out});
    const ProgramResult result = run.trainer(placement, ranks);
    INFO(result.out << result.err);
    REQUIRE(result.code == 0);
    return read_text(run.path(out + kWeights));
  };
  const std::string one_thread = weights_of("one", {"--threads", "1"});
  CHECK(weights_of("helped", {"--threads", "2", "--workers", "1"}) == one_thread);
  CHECK(weights_of("two", {"--threads", "3", "--workers", "2"}) == weights_of("threads", {"--threads", "2"}));
}

TEST_CASE("the header and environment.json show workers where threads are more", "[workers]") {
  const SmallRun run;
  const ProgramResult result = run.trainer({"a.yaml", "--threads", "2", "--workers", "1", "-o", "run"});
  INFO(result.out << result.err);
  REQUIRE(result.code == 0);
  CHECK(occurrences(result.out, ", 2 threads (1 worker), ") == 1);
  CHECK(number_after(read_text(run.path("run/environment.json")), "\"workers\": ") == 1);
  CHECK(occurrences(run.trainer({"a.yaml", "--threads", "2"}).out, "worker") == 0);
}

TEST_CASE("a plan and its run keep one gradient for each worker", "[workers]") {
  const SmallRun run;
  write_text(run.path("w.yaml"), kWide);
  const auto gradients = [&](const std::string& workers) {
    const ProgramResult plan =
        run.trainer({"plan", "w.yaml", "-n", "1", "--threads", "2", "--workers", workers, "--rate", "1"});
    INFO(plan.out << plan.err);
    REQUIRE(plan.code == 0);
    CHECK(occurrences(plan.out, "2 threads (1 worker) each\n") == (workers == "1" ? 1 : 0));
    return number_after(plan.out, "gradients ");
  };
  CHECK(gradients("1") > 0);
  CHECK(gradients("2") == Approx(2 * gradients("1")).epsilon(0.1));
}

TEST_CASE("more workers than threads are an error that names both numbers", "[workers]") {
  const SmallRun run;
  for (const std::string command : {"train", "time", "plan"}) {
    std::vector<std::string> words{command, "a.yaml", "--threads", "2", "--workers", "3"};
    if (command == "plan") words.insert(words.end(), {"-n", "1"});
    const ProgramResult result = run.trainer(words);
    CHECK(result.code == 2);
    CHECK(occurrences(result.err, "--workers 3 is more than the 2 threads of a process") == 1);
    CHECK(occurrences(result.err, "at most --workers 2, or --threads 3") == 1);
  }
}

}  // namespace trainer
