#include "models/training/divergence.h"

#include <catch2/catch.hpp>
#include <limits>

#include "engine/system/host.h"
#include "tests/support/mpi_main.h"

namespace trainer {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
int ranks() { return test_world().size(); }
bool is_last() { return test_world().rank() == ranks() - 1; }

/// The message of all ranks if the last one has such a loss, and `worst` in its gradients at `place`.
std::string message(double own_loss, std::size_t place, float worst) {
  const std::vector<Parameter> parameters{{.name = "a.weight", .shape = {4}},
                                          {.name = "b.weight", .shape = {4}, .offset = 16}};
  std::vector<float> values(32, 1.f), gradients(32);
  if (is_last()) gradients[place] = worst;
  // All have the sum of the first parameter.
  if (place < 4) gradients[place] = worst;
  LossHistory losses;
  losses.add(2.5);
  losses.add(own_loss);
  const Error error = divergence(test_world(), {.own_loss = is_last() ? own_loss : 1,
                                                .gradients = {{gradients}},
                                                .overwritten = {{0, 16}},
                                                .losses = losses,
                                                .epoch = 2,
                                                .step = 7,
                                                .rate = 0.1,
                                                .parameters = parameters,
                                                .values = values,
                                                .notes = {}});
  CHECK(error.code() == ExitCode::diverged);
  return error.diagnostics()[0].what;
}

}  // namespace

TEST_CASE("the rank whose loss is NaN is named with its host", "[training]") {
  const std::string who =
      ranks() > 1 ? " (rank " + std::to_string(ranks() - 1) + " on " + host_name() + " saw it first)" : "";
  CHECK(message(static_cast<double>(kNan), 30, 0) == "loss is NaN at epoch 2, step 7" + who);
}

TEST_CASE(
    "where only gradients are not finite, the rank that computed them comes before those that have the sum",
    "[training]") {
  const std::string last = std::to_string(ranks() - 1);
  const std::string who = " (rank " + last + " on " + host_name() + " saw it first, in b.weight)";
  CHECK(message(1, 17, kNan) ==
        "a gradient is not finite at epoch 2, step 7" + (ranks() > 1 ? who : " (in b.weight)"));
}

TEST_CASE("where nothing but a sum is not finite, its parameter is named", "[training][2+ ranks]") {
  CHECK(message(1, 2, kNan) == "a gradient is not finite at epoch 2, step 7 (rank 0 on " + host_name() +
                                   " saw it first, in a.weight)");
}

}  // namespace trainer
