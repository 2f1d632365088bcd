// train.compression as users meet it.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/end_to_end/small_run.h"

namespace trainer {
namespace {

std::vector<std::string> words(const std::string& compression, const std::string& run) {
  return {"a.yaml", "--datapar",         "-s", "train.compression=" + compression,
          "-s",     "train.log_every=1", "-o", run};
}

/// The test accuracy of the last line of results.csv, percent.
double accuracy_of(const std::string& results) {
  std::istringstream lines(results);
  std::string heading, last;
  std::getline(lines, heading);
  for (std::string line; std::getline(lines, line);) last = line;
  std::istringstream names(heading), values(last);
  std::string name, value;
  while (std::getline(names, name, ',') && std::getline(values, value, ','))
    if (name == "test/accuracy") return 100 * std::stod(value);
  return -1;
}

}  // namespace

TEST_CASE("the header names the compression, and training lines have the error of those with feedback",
          "[compression]") {
  const SmallRun run;
  const auto [compression, text, has_error] = GENERATE(table<std::string, std::string, bool>(
      {{"bf16", "bf16", false},
       {"{one_bit: {min_size: 0}}", "one_bit", true},
       {"{powersgd: {rank: 2, min_size: 0}}", "powersgd rank 2", true}}));
  const ProgramResult result = run.trainer(words(compression, "run"), 2);
  INFO(result.err);
  REQUIRE(result.code == 0);
  CHECK(result.out.find("compression   " + text + "\n") != std::string::npos);
  std::istringstream lines(read_text(run.path("run/metrics.jsonl")));
  int steps = 0;
  for (std::string line; std::getline(lines, line);) {
    const auto values = nlohmann::json::parse(line);
    const bool is_training = values["split"] == "train";
    steps += is_training ? 1 : 0;
    REQUIRE(values.contains("compression_error") == (is_training && has_error));
    if (!is_training || !has_error) continue;
    CHECK(values["compression_error"].get<double>() > 0.01);
    CHECK(values["compression_error"].get<double>() < 1);
  }
  CHECK(steps == 5);
  CHECK(run.trainer({"eval", "run"}).code == 0);
  // On other ranks, too.
  const ProgramResult resumed = run.trainer({"run", "-s", "train.epochs=2", "--datapar"}, 3);
  INFO(resumed.err);
  CHECK(resumed.code == 0);
}

TEST_CASE("a plan counts the bytes that the compression sends", "[compression]") {
  const SmallRun run;
  const auto plan = [&](const std::string& compression) {
    const ProgramResult result =
        run.trainer({"plan", "a.yaml", "-n", "2", "--datapar", "--link", "1Gbps,100us", "--rate", "10", "-s",
                     "train.compression=" + compression});
    INFO(result.err);
    REQUIRE(result.code == 0);
    return result.out;
  };
  CHECK(plan("bf16").find("all-gather of parameters") != std::string::npos);
  CHECK(plan("one_bit").find("all-gather of signs") != std::string::npos);
  CHECK(plan("one_bit").find("all-gather of parameters") == std::string::npos);
  CHECK(plan("one_bit") != plan("{one_bit: {min_size: 0}}"));
  CHECK(plan("{powersgd: {min_size: 0}}").find("all-reduce of factors Q") != std::string::npos);
  CHECK(plan("powersgd").find("residual of compression") != std::string::npos);
}

TEST_CASE("error feedback beside exact mode is an error that names the way out", "[compression]") {
  const SmallRun run;
  const ProgramResult result =
      run.trainer({"a.yaml", "-s", "train.compression=powersgd", "-s", "train.exact=true", "-o", "run"});
  CHECK(result.code == 2);
  CHECK(result.err.find("compression: bf16, which exact mode has") != std::string::npos);
}

TEST_CASE("on MNIST compressed runs reach the accuracy of float32 within 0.5 points", "[compression]") {
  const std::string data = setting_of_tests("TRAINER_TEST_DATA");
  if (data.empty()) {
    WARN("skipped: -Dreal_data names no folder with MNIST");
    return;
  }
  const SmallRun run;
  const auto accuracy = [&](const std::string& compression) {
    const std::string name = "run-" + std::to_string(compression.size());
    const ProgramResult result = run.trainer(
        {setting_of_tests("TRAINER_CONFIGS") + "/mnist-small.yaml", "--datapar", "-s", "data.path=" + data,
         "-s", "train.epochs=2", "-s", "train.compression=" + compression, "--threads", "1", "-o", name},
        2, 120);
    INFO(result.err);
    REQUIRE(result.code == 0);
    return accuracy_of(read_text(run.path(name + "/results.csv")));
  };
  const double in_float = accuracy("~");
  CHECK(in_float > 98);
  for (const std::string compression : {"bf16", "powersgd", "one_bit"})
    CHECK(accuracy(compression) == Approx(in_float).margin(0.5));
}

}  // namespace trainer
