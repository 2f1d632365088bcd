// train.accumulate: {fit: ...}: the micro-batches whose memory is below a limit.
#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "tests/end_to_end/small_run.h"

namespace trainer {
namespace {

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

const std::string kWeights = "/checkpoints/last/model.safetensors";

// Activations of the whole batch take 174 MiB; `fit` counts 64 MiB for the program.
const std::string kFitted =
    R"(data: {dataset: {synthetic: {shape: [3, 32, 32], classes: 4, train: 768, test: 4}}}
model: {layers: [{conv: {filters: 32, kernel: 3, activation: tanh}}, {dense: 4}], loss: softmax_cross_entropy}
train: {steps: 3, batch: 384, accumulate: {fit: 110MiB}, optimizer: {sgd: {lr: 0.1}}}
)";

/// Of all ranks at the end of a run, in MiB.
double measured_memory(const std::string& text) {
  const std::size_t end = text.find(" MiB of memory");
  return end == std::string::npos ? -1 : std::stod(text.substr(text.rfind(", ", end) + 2));
}

}  // namespace

TEST_CASE("fit takes the least number of micro-batches whose memory is below the limit, and the run keeps it",
          "[planning]") {
  const SmallRun run;
  write_text(run.path("w.yaml"), kFitted);
  const ProgramResult result = run.trainer({"w.yaml", "-o", "fitted"});
  INFO(result.out << result.err);
  REQUIRE(result.code == 0);
  const std::string config = read_text(run.path("fitted/config.yaml"));
  const double number = number_after(config, "accumulate: ");
  CHECK(number > 1);
  CHECK_FALSE(has(config, "fit"));
  CHECK(has(result.out, fmt::format("batch 384 in {} micro-batches, ", number)));
  CHECK(measured_memory(result.out) > 0);
  if (!is_built_with("address")) CHECK(measured_memory(result.out) <= 110);
  CHECK(has(run.trainer({"summary", "w.yaml"}).out, fmt::format(" MiB, with {} micro-batches\n", number)));
  CHECK(run.trainer({"plan", "w.yaml", "--rate", "1"}).code == 0);
  CHECK(run.trainer({"time", "w.yaml", "--steps", "1"}).code == 0);
  const ProgramResult whole = run.trainer({"w.yaml", "-s", "train.accumulate.fit=1GiB", "-o", "whole"});
  CHECK(has(read_text(run.path("whole/config.yaml")), "accumulate: 1\n"));
  CHECK(measured_memory(whole.out) > 110);
}

TEST_CASE("a fitted run has the bits of one with its number written out, on 1 to 3 ranks, resumed or not",
          "[planning]") {
  const SmallRun run;
  write_text(run.path("w.yaml"), kFitted);
  const int ranks = GENERATE(1, 2, 3);
  const auto weights_of = [&](std::vector<std::string> words) {
    words.insert(words.end(), {"--datapar", "--threads", "1", "-q"});
    const ProgramResult result = run.trainer(words, ranks);
    INFO(result.out << result.err);
    CHECK(result.code == 0);
    return read_text(run.path("run" + kWeights));
  };
  // Fewer ranks have more rows each.
  const std::string limit = "train.accumulate.fit=" + std::to_string(ranks == 1 ? 110 : 90) + "MiB";
  const std::string fitted = weights_of({"w.yaml", "-s", limit, "-o", "run"});
  const double number = number_after(read_text(run.path("run/config.yaml")), "accumulate: ");
  CHECK(number > 1);
  std::filesystem::remove_all(run.path("run"));
  CHECK(weights_of({"w.yaml", "-s", fmt::format("train.accumulate={}", number), "-o", "run"}) == fitted);
  if (ranks == 3) return;
  std::filesystem::remove_all(run.path("run"));
  weights_of({"w.yaml", "-s", limit, "-s", "train.steps=1", "-o", "run"});
  CHECK(weights_of({"run", "-s", "train.steps=3"}) == fitted);
}

TEST_CASE("in exact mode fit gives the same micro-batches and the same bits on 1, 2 and 3 ranks",
          "[planning]") {
  const SmallRun run;
  write_text(run.path("w.yaml"), kFitted);
  std::string first;
  for (const int ranks : {1, 2, 3}) {
    const std::string out = "ranks" + std::to_string(ranks);
    const ProgramResult result =
        run.trainer({"w.yaml", "-s", "train.exact=true", "--datapar", "-q", "-o", out}, ranks);
    INFO(ranks << " ranks\n" << result.out << result.err);
    REQUIRE(result.code == 0);
    CHECK(number_after(read_text(run.path(out + "/config.yaml")), "accumulate: ") > 1);
    const std::string weights = read_text(run.path(out + kWeights));
    if (ranks == 1) first = weights;
    CHECK(weights == first);
  }
}

TEST_CASE("where fit finds no number, or the number is part of the result, an error names the remedy",
          "[planning]") {
  const SmallRun run;
  write_text(run.path("w.yaml"), kFitted);
  const auto mistake = [&](const std::string& setting) {
    const ProgramResult result = run.trainer({"w.yaml", "-s", setting});
    CHECK(occurrences(result.err, "error: ") == 1);
    CHECK_FALSE(std::filesystem::exists(run.path("runs")));
    return std::to_string(result.code) + " " + result.err;
  };
  CHECK_THAT(mistake("train.accumulate.fit=4"),
             Catch::StartsWith("2 ") && Catch::Contains("`fit` expects a size with its unit, got `4`"));
  CHECK_THAT(mistake("model.layers=[{conv: {filters: 4, kernel: 3}}, batch_norm, {dense: 4}]"),
             Catch::StartsWith("2 ") && Catch::Contains("batch_norm1.running_mean is a statistic of each"));
  CHECK_THAT(mistake("train.local={steps: 2}"),
             Catch::StartsWith("2 ") && Catch::Contains("remove accumulate"));
  const std::string none = mistake("train.accumulate.fit=1MiB");
  CHECK_THAT(none, Catch::StartsWith("4 ") &&
                       Catch::Contains("no number of micro-batches fits: a rank needs ") &&
                       Catch::Contains(" with 384 micro-batches of 1 sample\n"));
  // The size that the help names is enough.
  const std::string least = fmt::format("train.accumulate.fit={:.0f}MiB", number_after(none, "help: fit: "));
  CHECK(run.trainer({"w.yaml", "-q", "-s", least}).code == 0);
}

}  // namespace trainer
