// Ranks of different speeds: shares that are measured, and the name of the slow one.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/end_to_end/small_run.h"

namespace trainer {
namespace {

namespace fs = std::filesystem;

/// Rank 1 takes 3 ms a sample, the others next to nothing.
const std::string kUneven = R"(data: {dataset: {failing: {rank: 1, pause: 3000}}}
model:
  layers: [{dense: {units: 8, activation: relu}}, {dense: 10}]
  loss: softmax_cross_entropy
train:
  steps: 6
  batch: 30
  optimizer: {sgd: {lr: 0.1}}
  log_every: 1
  balance: measured
)";

nlohmann::json state_of(const fs::path& run) {
  return nlohmann::json::parse(read_text(run / "checkpoints/last/state.json"));
}

}  // namespace

TEST_CASE("a slow rank gets fewer samples, and a run that resumes on as many ranks keeps the shares",
          "[balance]") {
  const SmallRun run;
  write_text(run.path("u.yaml"), kUneven);
  const ProgramResult first = run.shell("$FAILING_TRAINER -n 3 --datapar u.yaml -o once");
  INFO(first.out << first.err);
  REQUIRE(first.code == 0);
  const auto shares = state_of(run.path("once"))["rank_shares"].get<std::vector<std::int64_t>>();
  REQUIRE(shares.size() == 3);
  CHECK(shares[0] + shares[1] + shares[2] == 30);
  CHECK(shares[1] < shares[0]);
  CHECK(shares[1] < shares[2]);
  CHECK(first.out.find("\nbalance       ") != std::string::npos);
  CHECK(first.out.find("% of each batch\n") != std::string::npos);

  fs::copy(run.path("once"), run.path("twice"),
           fs::copy_options::recursive | fs::copy_options::copy_symlinks);
  REQUIRE(run.shell("$FAILING_TRAINER -n 3 --datapar once -s train.steps=12").code == 0);
  REQUIRE(run.shell("$FAILING_TRAINER -n 3 --datapar twice -s train.steps=9").code == 0);
  const ProgramResult last = run.shell("$FAILING_TRAINER -n 3 --datapar twice -s train.steps=12");
  CHECK(last.err.find("measured") == std::string::npos);
  CHECK(state_of(run.path("twice"))["rank_shares"] == state_of(run.path("once"))["rank_shares"]);
  CHECK(state_of(run.path("twice"))["files"] == state_of(run.path("once"))["files"]);

  const ProgramResult fewer = run.shell("$FAILING_TRAINER -n 2 --datapar twice -s train.steps=15");
  INFO(fewer.err);
  CHECK(fewer.code == 0);
  CHECK(fewer.err.find("note: speeds are measured again: the checkpoint has shares of 3 data ranks\n") == 0);
  CHECK(state_of(run.path("twice"))["rank_shares"].size() == 2);
  const ProgramResult equal =
      run.shell("$FAILING_TRAINER -n 2 --datapar twice -s train.steps=18 -s train.balance=equal");
  CHECK(equal.code == 0);
  CHECK(equal.out.find("\nbalance ") == std::string::npos);
  CHECK_FALSE(state_of(run.path("twice")).contains("rank_shares"));
}

TEST_CASE("an exact run has the same weights with measured shares as alone, and prints whole virtual workers",
          "[balance]") {
  const SmallRun run;
  write_text(run.path("u.yaml"), kUneven);
  const ProgramResult two = run.shell("$FAILING_TRAINER -n 2 --datapar u.yaml -s train.exact=true -o two");
  INFO(two.out << two.err);
  REQUIRE(two.code == 0);
  CHECK(two.out.find("\nbalance       7, 1 of 8 virtual workers\n") != std::string::npos);
  REQUIRE(run.shell("$FAILING_TRAINER u.yaml -s train.exact=true -o alone").code == 0);
  CHECK(read_text(run.path("two/checkpoints/last/model.safetensors")) ==
        read_text(run.path("alone/checkpoints/last/model.safetensors")));
}

TEST_CASE("the rank that others wait for is named in the table, the last line, metrics.jsonl and the report",
          "[balance]") {
  const SmallRun run;
  write_text(run.path("u.yaml"), kUneven);
  const ProgramResult result =
      run.shell("$FAILING_TRAINER -n 3 --datapar u.yaml -s train.balance=equal -o equal");
  INFO(result.out << result.err);
  REQUIRE(result.code == 0);
  CHECK(result.out.find("% waiting for other ranks, rank 1 is slow") != std::string::npos);
  CHECK(occurrences(result.out, "rank 1 is slow\n") >= 3);  // each epoch has two steps
  CHECK(occurrences(read_text(run.path("equal/metrics.jsonl")), "\"slow_rank\":1,") >= 4);
  CHECK(occurrences(read_text(run.path("equal/metrics.jsonl")), "\"slow_rank\":") ==
        occurrences(read_text(run.path("equal/metrics.jsonl")), "\"slow_rank\":1,"));
  CHECK(read_text(run.path("equal/report.html")).find("; rank 1 is slow.") != std::string::npos);
}

TEST_CASE("measured shares with what assumes equal ones are errors that name the key", "[balance]") {
  const SmallRun run;
  write_text(run.path("u.yaml"), kUneven);
  const auto [words, what] = GENERATE(table<std::string, std::string>(
      {{"-s 'train.local={steps: 2}'", "each virtual worker of train.local takes an equal share of a batch"},
       {"-s 'train.accumulate={fit: 1GiB}'", "`accumulate: {fit: ...}` counts the memory of equal shares"},
       {"--shard gradients", "--shard gradients and train.balance exclude each other"}}));
  const ProgramResult result = run.shell("$FAILING_TRAINER -n 2 --datapar u.yaml " + words);
  INFO(result.err);
  CHECK(result.code == (words.starts_with("--shard") ? 4 : 2));
  CHECK(result.err.find("error: " + what) == 0);
  CHECK(result.err.find("balance: measured") != std::string::npos);
}

}  // namespace trainer
