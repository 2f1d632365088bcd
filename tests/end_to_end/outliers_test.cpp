// Updates that train.skip_outliers leaves out.
#include <catch2/catch.hpp>

#include "tests/end_to_end/small_run.h"

namespace trainer {
namespace {

const std::string kRun = R"(data: {dataset: {csv: {train: table.csv, target: y, targets: numbers}}}
model: {layers: [{dense: {units: 8, activation: tanh}}, {dense: 1}], loss: mse}
train:
  epochs: 4
  batch: 8
  exact: true
  optimizer: {adam: {lr: 0.01}}
  skip_outliers: {z: 8, window: 20}
)";
const std::string kWeights = "/checkpoints/last/model.safetensors";

/// 240 rows; the target of one of them is 1,000 times too large.
void write_table(const SmallRun& run) {
  std::string table = "a,b,y\n";
  for (int row = 0; row < 240; ++row) {
    const int a = row * 7 % 13, b = row * 11 % 17;
    table += std::to_string(a) + "," + std::to_string(b) + "," +
             std::to_string(row == 100 ? 1000 * (a + b) : a + b) + "\n";
  }
  write_text(run.path("table.csv"), table);
  write_text(run.path("o.yaml"), kRun);
}

std::vector<std::string> with(std::vector<std::string> words, const std::vector<std::string>& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

}  // namespace

TEST_CASE("the same outliers are skipped on every placement, with the same bits", "[outliers]") {
  const SmallRun run;
  write_table(run);
  const ProgramResult one = run.trainer({"o.yaml", "-o", "one"});
  INFO(one.out << one.err);
  REQUIRE(one.code == 0);
  const std::string rows = read_text(run.path("one/skipped_updates.csv"));
  CHECK(rows.starts_with("step,epoch,gradient_norm,mean,deviation\n"));
  CHECK(occurrences(rows, "\n") == 1 + 3);
  CHECK(occurrences(one.out, ": update skipped, gradient norm ") == 3);
  CHECK_THAT(read_text(run.path("one/report.html")), Catch::Contains("<h2>Skipped updates</h2>"));
  const auto check = [&](const std::string& out, int ranks, const std::vector<std::string>& more) {
    INFO(out);
    REQUIRE(run.trainer(with({"o.yaml", "-o", out}, more), ranks).code == 0);
    CHECK(read_text(run.path(out + "/skipped_updates.csv")) == rows);
    CHECK(read_text(run.path(out + kWeights)) == read_text(run.path("one" + kWeights)));
  };
  check("threads", 1, {"--threads", "3"});
  check("two", 2, {"--datapar"});
  check("three", 3, {"--datapar", "--ranks-per-node", "1"});
  check("parts", 2, {"--modelpar"});
}

TEST_CASE("a skipped update changes neither weights nor the optimizer's state", "[outliers]") {
  const SmallRun run;
  write_table(run);
  for (const std::vector<std::string>& more : {std::vector<std::string>{},
                                               {"-s", "train.accumulate=2"},
                                               {"-s", "train.clip_norm=1"},
                                               {"-s", "train.compression=bf16", "-s", "train.optimizer=lamb"},
                                               {"-s", "train.ema=0.9"}}) {
    const std::vector<std::string> words = with({"o.yaml", "-s", "train.log={gradients: true}"}, more);
    INFO(run.trainer(with(words, {"-o", "all"})).err);
    const std::string rows = read_text(run.path("all/skipped_updates.csv"));
    REQUIRE(occurrences(rows, "\n") > 1);
    const int step = std::stoi(rows.substr(rows.find('\n') + 1));
    const auto files_after = [&](int steps) {
      const std::string out = "after" + std::to_string(steps);
      CHECK(run.trainer(with(words, {"-s", "train.steps=" + std::to_string(steps), "-o", out})).code == 0);
      return read_text(run.path(out + kWeights)) +
             read_text(run.path(out + "/checkpoints/last/optimizer.safetensors"));
    };
    CHECK(files_after(step) == files_after(step - 1));
    CHECK(files_after(step + 1) != files_after(step + 2));
    for (const char* const used : {"all"}) std::filesystem::remove_all(run.path(used));
    for (int steps = step - 1; steps <= step + 2; ++steps)
      std::filesystem::remove_all(run.path("after" + std::to_string(steps)));
  }
}

TEST_CASE("a run that resumes skips what it would have skipped", "[outliers]") {
  const SmallRun run;
  write_table(run);
  REQUIRE(run.trainer({"o.yaml", "-o", "whole"}).code == 0);
  const std::string rows = read_text(run.path("whole/skipped_updates.csv"));
  REQUIRE(run.trainer({"o.yaml", "-o", "cut", "-s", "train.epochs=2"}).code == 0);
  REQUIRE(run.trainer({"cut", "-s", "train.epochs=4", "--datapar"}, 2).code == 0);
  CHECK(read_text(run.path("cut/skipped_updates.csv")) == rows);
  CHECK(read_text(run.path("cut" + kWeights)) == read_text(run.path("whole" + kWeights)));
}

TEST_CASE("a run whose updates cannot be skipped one by one is a mistake", "[outliers]") {
  const SmallRun run;
  write_table(run);
  CHECK_THAT(run.trainer({"o.yaml", "-s", "train.local={steps: 2}"}).err,
             Catch::Contains("virtual workers of train.local update their models by themselves"));
  CHECK_THAT(run.trainer({"o.yaml", "-s", "train.exact=false", "-s", "train.compression=one_bit"}).err,
             Catch::Contains("error feedback adds to the next update"));
}

}  // namespace trainer
