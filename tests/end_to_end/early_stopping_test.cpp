// Runs that end before their last step, by train.early_stopping or train.stop.
#include <catch2/catch.hpp>

#include "tests/end_to_end/small_run.h"

namespace trainer {
namespace {

/// The 40 images are noise, so the accuracy of the test samples soon stops rising.
const std::vector<std::string> kPatient{"-s", "train.epochs=50", "-s", "train.early_stopping={patience: 3}",
                                        "-s", "train.exact=true"};

std::vector<std::string> with(std::vector<std::string> words, const std::vector<std::string>& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

}  // namespace

TEST_CASE("a run that stops improving ends, with the same bits on every placement", "[early-stopping]") {
  const SmallRun run;
  const ProgramResult one = run.trainer(with({"a.yaml", "-o", "one"}, kPatient));
  INFO(one.out << one.err);
  REQUIRE(one.code == 0);
  CHECK(one.out.find("accuracy of test has not risen in 3 evaluations") != std::string::npos);
  CHECK(one.out.find("of 250: ") != std::string::npos);
  for (const char* file : {"one/command.txt", "one/report.html"})
    CHECK(read_text(run.path(file)).find("has not risen in 3 evaluations") != std::string::npos);
  const ProgramResult three = run.trainer(with({"a.yaml", "-o", "three", "--datapar"}, kPatient), 3);
  REQUIRE(three.code == 0);
  CHECK(read_text(run.path("one/checkpoints/last/model.safetensors")) ==
        read_text(run.path("three/checkpoints/last/model.safetensors")));
}

TEST_CASE("a run that ended early is finished, and resumes with more patience", "[early-stopping]") {
  const SmallRun run;
  REQUIRE(run.trainer(with({"a.yaml"}, kPatient)).code == 0);
  const ProgramResult again = run.trainer({"--resume", "runs/a"});
  INFO(again.out << again.err);
  CHECK(again.code == 0);
  CHECK(again.out.find("is finished") != std::string::npos);
  CHECK(again.out.find("has not risen in 3 evaluations") != std::string::npos);

  const ProgramResult longer =
      run.trainer({"--resume", "runs/a", "-s", "train.early_stopping={patience: 6}"});
  INFO(longer.out << longer.err);
  CHECK(longer.code == 0);
  CHECK(longer.out.find("has not risen in 6 evaluations") != std::string::npos);
  REQUIRE(run.trainer(with({"a.yaml", "-o", "whole"},
                           with(kPatient, {"-s", "train.early_stopping={patience: 6}"})))
              .code == 0);
  CHECK(read_text(run.path("runs/a/checkpoints/last/model.safetensors")) ==
        read_text(run.path("whole/checkpoints/last/model.safetensors")));
}

TEST_CASE("train.stop ends a run at its loss and at its time, with a checkpoint of the last step",
          "[early-stopping]") {
  const SmallRun run;
  const ProgramResult loss =
      run.trainer({"a.yaml", "-o", "loss", "-s", "train.epochs=50", "-s", "train.stop.loss=100"});
  INFO(loss.out << loss.err);
  CHECK(loss.code == 0);
  CHECK(loss.out.find("after step 5 of 250: loss of test is ") != std::string::npos);
  const ProgramResult time =
      run.trainer({"a.yaml", "-o", "timed", "-s", "train.epochs=1000000", "-s", "train.stop.time=0.6s", "-s",
                   "train.evaluate=never", "--datapar", "-q"},
                  2);
  INFO(time.out << time.err);
  CHECK(time.code == 0);
  CHECK(time.out.find("0.6 s of training are over") != std::string::npos);
  CHECK(time.seconds < 10);
  CHECK(run.trainer({"--resume", "timed"}).out.find("is finished") != std::string::npos);
}

TEST_CASE("early stopping without evaluations, or for a metric that the run lacks, is an error",
          "[early-stopping]") {
  const SmallRun run;
  const auto error = [&](const std::vector<std::string>& flags) {
    const ProgramResult result =
        run.trainer(with({"check", "a.yaml", "-s", "train.early_stopping.patience=1"}, flags));
    CHECK(result.code == 2);
    return result.out + result.err;
  };
  CHECK(error({"-s", "train.evaluate=never"})
            .find("early stopping follows evaluations, and the run has none") != std::string::npos);
  CHECK(error({"-s", "train.early_stopping.metric=f1"}).find("one of: loss, accuracy") != std::string::npos);
  CHECK(error({"-s", "train.early_stopping={metric: loss, mode: any}"}).find("remove metric, or mode") !=
        std::string::npos);
}

}  // namespace trainer
