// Local SGD as users start it: the same bits on any number of ranks, cut off or not.
#include <catch2/catch.hpp>

#include "tests/end_to_end/small_run.h"

namespace trainer {
namespace {

const std::string kWeights = "/checkpoints/last/model.safetensors";
const std::string kLocal =
    "train.local={steps: 2, virtual_workers: 4, outer: {nesterov: {lr: 0.7, momentum: 0.9}}}";

std::vector<std::string> words(const std::string& run, int epochs, const std::string& compression = "~") {
  return {"a.yaml", "--datapar",
          "-s",     "train.compression=" + compression,
          "-s",     kLocal,
          "-s",     "train.optimizer.sgd.momentum=0.9",
          "-s",     "train.epochs=" + std::to_string(epochs),
          "-s",     "train.log_every=1",
          "-s",     "train.exact=true",
          "-o",     run};
}

}  // namespace

TEST_CASE("a local run on 1, 2 and 4 ranks leaves the same weights, and its header describes it", "[local]") {
  const SmallRun run;
  const ProgramResult one = run.trainer(words("one", 2));
  INFO(one.err);
  REQUIRE(one.code == 0);
  CHECK(one.out.find(
            "local         4 virtual workers, a round of 2 steps, outer nesterov lr 0.7 momentum 0.9\n") !=
        std::string::npos);
  REQUIRE(run.trainer(words("two", 2), 2).code == 0);
  REQUIRE(run.trainer(words("four", 2), 4).code == 0);
  const std::string weights = read_text(run.path("one" + kWeights));
  CHECK(read_text(run.path("two" + kWeights)) == weights);
  CHECK(read_text(run.path("four" + kWeights)) == weights);
  // A line for each round: 2 + 2 + 1 steps in both epochs; and an evaluation for each.
  CHECK(occurrences(read_text(run.path("one/metrics.jsonl")), "\"split\":\"train\"") == 6);
  CHECK(occurrences(read_text(run.path("one/metrics.jsonl")), "\"split\":\"test\"") == 2);
  CHECK(run.trainer({"eval", "two"}).code == 0);
}

TEST_CASE("a local run that was cut off resumes on other ranks to the same weights and states", "[local]") {
  const SmallRun run;
  const std::string compression = GENERATE("~", "bf16", "one_bit", "{one_bit: {min_size: 0}}");
  REQUIRE(run.trainer(words("whole", 3, compression)).code == 0);
  REQUIRE(run.trainer(words("half", 1, compression), 2).code == 0);
  const ProgramResult result = run.trainer({"half", "-s", "train.epochs=3", "--datapar"}, 4);
  INFO(result.err);
  REQUIRE(result.code == 0);
  for (const char* file : {"model", "optimizer"}) {
    const std::string name = std::string("/checkpoints/last/") + file + ".safetensors";
    CHECK(read_text(run.path("half" + name)) == read_text(run.path("whole" + name)));
  }
  CHECK(run.trainer({"half", "-s", "train.epochs=4", "-s", "train.local.steps=3"}).code == 2);
}

TEST_CASE("with one_bit a rank keeps the residuals of its virtual workers and no other", "[local]") {
  const SmallRun run;
  std::vector<std::string> of_two = words("two", 1, "one_bit");
  of_two.insert(of_two.end(), {"--progress", "json"});
  const ProgramResult result = run.trainer(of_two, 2);
  INFO(result.out << result.err);
  REQUIRE(result.code == 0);
  const double bytes = number_after(result.out, "\"residual of compression\":");
  constexpr double kParameters = 4 * 6370, kWorkers = 2, kPadding = 4096;
  CHECK(bytes >= kWorkers * kParameters);
  CHECK(bytes < kWorkers * (kParameters + kPadding));
  const ProgramResult summary =
      run.trainer({"summary", "a.yaml", "-s", kLocal, "-s", "train.compression=one_bit"});
  REQUIRE(summary.code == 0);
  CHECK(summary.out.find("residual of compression") == std::string::npos);
}

TEST_CASE("`trainer summary` counts the codes of all virtual workers, as a run measures them", "[local]") {
  const SmallRun run;
  std::vector<std::string> of_two = words("two", 1, "one_bit");
  of_two.insert(of_two.end(), {"--progress", "json"});
  const ProgramResult result = run.trainer(of_two, 2);
  const ProgramResult summary =
      run.trainer({"summary", "a.yaml", "-s", kLocal, "-s", "train.compression=one_bit", "--datapar"}, 2);
  INFO(result.out << result.err << summary.out << summary.err);
  const double bytes = number_after(result.out, "\"messages\":");
  // 4 virtual workers send their codes to both ranks, and each rank makes those of 2.
  CHECK(bytes > (4 + 2) * 6272 / 8.0);
  CHECK(1024 * number_after(summary.out, "  messages ") == Approx(bytes).epsilon(0.02));
}

TEST_CASE("averaged states: `trainer summary` counts their messages, as a run measures them", "[local]") {
  const SmallRun run;
  const std::string average = "train.local.optimizer_states=average";
  const auto bytes_of_run = [&](const std::string& name, bool averages) {
    std::vector<std::string> of_two = words(name, 1);
    of_two.insert(of_two.end(), {"--progress", "json"});
    if (averages) of_two.insert(of_two.end(), {"-s", average});
    const ProgramResult result = run.trainer(of_two, 2);
    INFO(result.err);
    REQUIRE(result.code == 0);
    return number_after(result.out, "\"messages\":");
  };
  const ProgramResult summary = run.trainer({"summary", "a.yaml", "-s", kLocal, "-s",
                                             "train.optimizer.sgd.momentum=0.9", "-s", average, "--datapar"},
                                            2);
  INFO(summary.out << summary.err);
  const double bytes = bytes_of_run("average", true) - bytes_of_run("keep", false);
  CHECK(bytes > 2 * 4 * 6370);
  CHECK(1024 * number_after(summary.out, "messages of means ") == Approx(bytes).epsilon(0.02));
}

TEST_CASE("`trainer summary` counts the messages of the rank that hosts the most of uneven virtual workers",
          "[local]") {
  const SmallRun run;
  const int ranks = GENERATE(2, 3);
  const std::string five = "train.local.virtual_workers=5", average = "train.local.optimizer_states=average";
  const auto bytes_of_run = [&](const std::string& name, const std::string& compression, bool averages) {
    std::vector<std::string> all = words(name, 1, compression);
    all.insert(all.end(), {"--progress", "json", "-s", five});
    if (averages) all.insert(all.end(), {"-s", average});
    const ProgramResult result = run.trainer(all, ranks);
    INFO(result.err);
    REQUIRE(result.code == 0);
    return number_after(result.out, "\"messages\":");
  };
  const auto summary = [&](const std::string& setting) {
    return run
        .trainer({"summary", "a.yaml", "--datapar", "-s", kLocal, "-s", five, "-s",
                  "train.optimizer.sgd.momentum=0.9", "-s", setting},
                 ranks)
        .out;
  };
  CHECK(1024 * number_after(summary("train.compression=one_bit"), "  messages ") ==
        Approx(bytes_of_run("signs", "one_bit", false)).epsilon(0.02));
  const double means = bytes_of_run("average", "~", true) - bytes_of_run("keep", "~", false);
  CHECK(1024 * number_after(summary(average), "messages of means ") == Approx(means).epsilon(0.02));
}

TEST_CASE("`trainer time` refuses a local run, and `trainer summary` counts its memory", "[local]") {
  const SmallRun run;
  const ProgramResult time = run.trainer({"time", "a.yaml", "-s", kLocal});
  CHECK(time.code == 2);
  CHECK(time.err.find("measures the layers of steps that all ranks take together") != std::string::npos);
  const ProgramResult summary = run.trainer({"summary", "a.yaml", "-s", kLocal});
  CHECK(summary.code == 0);
  CHECK(summary.out.find("4 virtual workers") != std::string::npos);
}

}  // namespace trainer
