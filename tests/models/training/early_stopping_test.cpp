#include "models/training/early_stopping.h"

#include <catch2/catch.hpp>
#include <limits>

namespace trainer {
namespace {

using Follow = EarlyStoppingSettings::Mode;

const RunFacts kFacts{
    .metrics = {{.name = "accuracy"}, {.name = "log_loss", .is_fraction = false, .higher_is_better = false}},
    .evaluation_split = "valid"};

/// Evaluations of a run that is still far from its last step.
class Evaluations {
 public:
  explicit Evaluations(const TrainSettings& settings) : stopping(settings, kFacts) {}

  /// The steps done when the run ended; 0: it continues.
  std::int64_t see(double loss, double accuracy, double log_loss = 1) {
    ++run.step;
    run.evaluation = {.samples = 10, .loss = loss, .metrics = {accuracy, log_loss}};
    stopping.between_steps(run);
    return run.is_done() ? run.step : 0;
  }

  EarlyStopping stopping;
  Progress run{.total_steps = 1000};
};

TrainSettings patient(std::int64_t patience, Follow mode = Follow::first, double min_delta = 0,
                      const std::string& metric = "") {
  return {.early_stopping = {{.patience = patience, .min_delta = min_delta, .metric = metric, .mode = mode}}};
}

}  // namespace

TEST_CASE("a run ends after as many evaluations without improvement as it has patience", "[early-stopping]") {
  Evaluations evaluations(patient(2));
  CHECK(evaluations.see(1.0, 0.5) == 0);
  CHECK(evaluations.see(0.9, 0.5) == 0);
  CHECK(evaluations.see(0.8, 0.6) == 0);
  CHECK(evaluations.see(0.7, 0.6) == 0);
  CHECK(evaluations.see(0.6, 0.59) == 5);
  CHECK(evaluations.run.result.reason == "accuracy of valid has not risen in 2 evaluations");
}

TEST_CASE("a change up to min_delta is no improvement", "[early-stopping]") {
  Evaluations evaluations(patient(2, Follow::first, 0.25, "loss"));
  CHECK(evaluations.see(2.0, 0.1) == 0);
  CHECK(evaluations.see(1.75, 0.2) == 0);
  CHECK(evaluations.see(1.5, 0.3) == 0);
  CHECK(evaluations.see(1.25, 0.4) == 0);
  CHECK(evaluations.see(1.0, 0.5) == 0);
  CHECK(evaluations.see(1.0, 0.6) == 0);
  CHECK(evaluations.see(1.0, 0.7) == 7);
  CHECK(evaluations.run.result.reason == "loss of valid has not fallen in 2 evaluations");
}

TEST_CASE("mode any follows each score and mode all ends when none improves", "[early-stopping]") {
  Evaluations any(patient(2, Follow::any)), all(patient(2, Follow::all));
  for (Evaluations* each : {&any, &all}) CHECK(each->see(1.0, 0.5, 0.9) == 0);
  for (Evaluations* each : {&any, &all}) CHECK(each->see(0.9, 0.6, 0.9) == 0);
  CHECK(any.see(0.8, 0.7, 0.9) == 3);
  CHECK(any.run.result.reason == "log_loss of valid has not fallen in 2 evaluations");
  CHECK(all.see(0.8, 0.7, 0.9) == 0);
  CHECK(all.see(0.8, 0.7, 0.9) == 0);
  CHECK(all.see(0.8, 0.7, 0.9) == 5);
}

TEST_CASE("any value improves on NaN, and NaN improves on nothing", "[early-stopping]") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  Evaluations evaluations(patient(2));
  CHECK(evaluations.see(1, nan) == 0);
  CHECK(evaluations.see(1, nan) == 0);
  CHECK(evaluations.see(1, 0.1) == 0);
  CHECK(evaluations.see(1, nan) == 0);
  CHECK(evaluations.see(1, nan) == 5);
}

TEST_CASE("a run ends at the loss of train.stop", "[early-stopping]") {
  Evaluations evaluations({.stop = {.loss = 0.25}});
  CHECK(evaluations.see(0.26, 0.5) == 0);
  CHECK(evaluations.see(0.25, 0.5) == 2);
  CHECK(evaluations.run.result.reason == "loss of valid is 0.25, at most 0.25");
}

TEST_CASE("a run ends at the end of the step in which the time of train.stop is over on one rank",
          "[early-stopping]") {
  Evaluations evaluations({.stop = {.seconds = 60}});
  Signals mine;
  evaluations.stopping.before_consensus(evaluations.run, mine);
  CHECK_FALSE(mine.time_is_over);
  evaluations.run.start -= std::chrono::seconds(61);
  evaluations.stopping.before_consensus(evaluations.run, mine);
  CHECK(mine.time_is_over);
  evaluations.stopping.before_update(0, {.time_is_over = true});
  CHECK(evaluations.stopping.reads_parameters(evaluations.run, 1));
  evaluations.run.step = 1;
  evaluations.stopping.after_step(evaluations.run);
  CHECK(evaluations.run.is_done());
  CHECK(evaluations.run.result.reason == "60 s of training are over");
}

TEST_CASE("a run that ends by the clock of another rank is over for the rank that saves",
          "[early-stopping]") {
  const TrainSettings settings{.stop = {.seconds = 60}};
  Evaluations evaluations(settings);
  evaluations.stopping.before_update(0, {.time_is_over = true});
  evaluations.run.step = 1;
  evaluations.stopping.after_step(evaluations.run);
  const std::chrono::duration<double> time = Progress::Clock::now() - evaluations.run.start;
  EarlyStopping resumed(settings, kFacts);
  resumed.restore({}, std::nullopt, time.count());
  CHECK(resumed.reason() == "60 s of training are over");
}

TEST_CASE("early stopping resumes where it was saved", "[early-stopping]") {
  const TrainSettings settings = patient(3);
  Evaluations before(settings), after(settings);
  before.see(1.0, 0.5);
  before.see(0.9, 0.4);
  after.stopping.restore(before.stopping.state(), before.run.evaluation, 0);
  CHECK(after.stopping.reason().empty());
  CHECK(after.see(0.8, 0.3) == 0);
  CHECK(after.see(0.7, 0.5) == 2);

  EarlyStopping ended(settings, kFacts), more_patient(patient(4), kFacts);
  ended.restore(after.stopping.state(), after.run.evaluation, 0);
  CHECK(ended.reason() == "accuracy of valid has not risen in 3 evaluations");
  more_patient.restore(after.stopping.state(), after.run.evaluation, 0);
  CHECK(more_patient.reason().empty());
}

TEST_CASE("a count of a checkpoint that cannot be is 0, and the run continues", "[early-stopping]") {
  const double count = GENERATE(-1.0, 1e300, std::numeric_limits<double>::quiet_NaN());
  Evaluations evaluations(patient(1));
  const Scores last{.samples = 10, .loss = 1, .metrics = {0.5, 1}};
  evaluations.stopping.restore({1, count, 0.5, count, 1, count}, last, 0);
  CHECK(evaluations.stopping.reason().empty());
  CHECK(evaluations.stopping.state() == std::vector<double>{1, 0, 0.5, 0, 1, 0});
}

}  // namespace trainer
