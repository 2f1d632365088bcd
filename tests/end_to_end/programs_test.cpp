// Metrics that are programs of the user.
#include <catch2/catch.hpp>
#include <regex>

#include "tests/end_to_end/small_run.h"

namespace trainer {
namespace {

namespace fs = std::filesystem;

/// Prints the share of samples whose largest prediction is their target.
const std::string kAccuracy = R"(#!/usr/bin/env python3
import ast, struct, sys

def load(path):
    data = open(path, 'rb').read()
    begin = 10 + struct.unpack('<H', data[8:10])[0]
    header = ast.literal_eval(data[10:begin].decode())
    letter = {'<f4': 'f', '<i4': 'i'}[header['descr']]
    return header['shape'], struct.unpack('<%d%s' % ((len(data) - begin) // 4, letter), data[begin:])

(rows, classes), values = load(sys.argv[1])
(labels,), targets = load(sys.argv[2])
assert rows == labels and abs(sum(values) - rows) < 1e-3
best = [max(range(classes), key=lambda k: values[row * classes + k]) for row in range(rows)]
print('some words first')
print(sum(one == target for one, target in zip(best, targets)) / rows)
)";

void write_program(const fs::path& path, const std::string& text) {
  write_text(path, text);
  fs::permissions(path, fs::perms::owner_all);
}

/// Words of a run whose only metric, or the one after accuracy, is score.py.
std::vector<std::string> scored(const std::string& more = "", const std::string& before = "accuracy, ") {
  return {"a.yaml", "-s", "train.epochs=3", "-s",
          "train.metrics=[" + before + "{program: {command: [./score.py]" + more + "}}]"};
}

std::vector<std::string> with(std::vector<std::string> words, const std::vector<std::string>& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

/// A column of results.csv.
std::vector<std::string> column(const std::string& csv, const std::string& name) {
  std::vector<std::string> values;
  std::size_t number = 0;
  std::istringstream lines(csv);
  for (std::string line; std::getline(lines, line);) {
    std::vector<std::string> cells;
    std::istringstream row(line);
    for (std::string cell; std::getline(row, cell, ',');) cells.push_back(cell);
    if (values.empty()) number = static_cast<std::size_t>(std::ranges::find(cells, name) - cells.begin());
    values.push_back(number < cells.size() ? cells[number] : "none");
  }
  values.erase(values.begin());
  return values;
}

}  // namespace

TEST_CASE("a program scores the predictions of all samples, in their order, on every placement",
          "[programs]") {
  const SmallRun run;
  write_program(run.path("score.py"), kAccuracy);
  const auto check = [&](const std::string& out, int ranks, const std::vector<std::string>& more) {
    const ProgramResult result = run.trainer(with(scored(), with({"-o", out}, more)), ranks);
    INFO(result.out << result.err);
    REQUIRE(result.code == 0);
    const std::string csv = read_text(run.path(out + "/results.csv"));
    CHECK(column(csv, "test/score") == column(csv, "test/accuracy"));
    CHECK(column(csv, "test/score").size() == 3);
    CHECK(column(csv, "train/score") == std::vector<std::string>(3, ""));
    CHECK(occurrences(result.out, "score ") == 1);
  };
  check("one", 1, {"--threads", "2"});
  check("two", 2, {"--datapar"});
  check("parts", 2, {"--modelpar"});
  check("three", 3, {"--datapar", "-s", "train.local={steps: 2, virtual_workers: 4}"});
  const ProgramResult eval = run.trainer({"eval", "one"});
  CHECK(eval.code == 0);
  CHECK(eval.out.find("score not computed: --run-programs starts its program") != std::string::npos);
}

TEST_CASE("eval starts the programs of a run when it is asked to, and leaves nothing", "[programs]") {
  const SmallRun run;
  write_program(run.path("score.py"), kAccuracy);
  REQUIRE(run.trainer(with(scored(), {"-o", "one", "-q"})).code == 0);
  fs::create_directory(run.path("temporary"));
  fs::remove_all(run.path("one/evaluation"));
  const auto eval = [&](int ranks, const std::vector<std::string>& more) {
    std::string line = "TMPDIR=$PWD/temporary $TRAINER " + (ranks > 1 ? "-n " + std::to_string(ranks) : "") +
                       " eval one --run-programs";
    for (const std::string& word : more) line += " " + word;
    const ProgramResult result = run.shell(line);
    INFO(result.out << result.err);
    CHECK(fs::is_empty(run.path("temporary")));
    CHECK_FALSE(fs::exists(run.path("one/evaluation")));
    return result;
  };
  const auto check = [&](const ProgramResult& result) {
    std::smatch found;
    REQUIRE(std::regex_search(result.out, found, std::regex("accuracy ([0-9.]+)%[^]*\nscore ([0-9.]+)\n")));
    CHECK(std::stod(found[2]) == Approx(std::stod(found[1]) / 100).margin(1e-4));
  };
  check(eval(1, {}));
  check(eval(1, {"--split", "train"}));
  check(eval(3, {"--datapar"}));

  write_program(run.path("score.py"), "#!/bin/sh\necho no file a >&2; exit 3\n");
  const ProgramResult failed = eval(1, {});
  CHECK(failed.code == 1);
  CHECK_THAT(failed.err, Catch::Contains("the program of the metric score ended with code 3") &&
                             Catch::Contains("= no file a") && !Catch::Contains("what it printed is in"));
  fs::remove(run.path("score.py"));
  CHECK_THAT(eval(1, {}).err, Catch::Contains("cannot start `./score.py`: no such program"));
}

TEST_CASE("the score of a program chooses the best weights and ends a run", "[programs]") {
  const SmallRun run;
  // Falls with each evaluation.
  write_program(run.path("score.py"), "#!/bin/sh\necho x >> count; echo -$(wc -l < count)\n");
  const ProgramResult first =
      run.trainer(with(scored("", ""), {"-s", "train.early_stopping={patience: 2}", "-s", "train.epochs=9"}));
  INFO(first.out << first.err);
  REQUIRE(first.code == 0);
  CHECK(first.out.find("best  epoch 1: test score -1.0000") != std::string::npos);
  CHECK(first.out.find("score of test has not risen in 2 evaluations") != std::string::npos);
  fs::remove(run.path("count"));
  const ProgramResult last = run.trainer(scored(", mode: min, name: falls", ""));
  CHECK(last.out.find("best  epoch 3: test falls -3.0000") != std::string::npos);
}

TEST_CASE("a program that cannot be started is a mistake before the run, one that fails ends it",
          "[programs]") {
  const SmallRun run;
  const ProgramResult absent = run.trainer(scored());
  CHECK(absent.code == 2);
  CHECK_THAT(absent.err,
             Catch::Contains("cannot start `./score.py`: no such program\n  --> -s train.metrics="));
  CHECK_FALSE(fs::exists(run.path("runs")));
  CHECK(run.trainer(with({"check"}, scored())).code == 2);

  const auto failure = [&](const std::string& program, int ranks, const std::string& more = "") {
    write_program(run.path("score.py"), program);
    const std::vector<std::string> datapar(ranks > 1 ? 1 : 0, "--datapar");
    const ProgramResult result = run.trainer(with(scored(more), datapar), ranks);
    CHECK(result.code == 1);
    CHECK(occurrences(result.err, "error:") == 1);
    CHECK(result.err.find("/evaluation/score.out and score.err") != std::string::npos);
    return result.err;
  };
  CHECK_THAT(failure("#!/bin/sh\necho 1; echo no file a >&2; exit 3\n", 1),
             Catch::Contains("the program of the metric score ended with code 3\n") &&
                 Catch::Contains("= no file a"));
  CHECK_THAT(
      failure("#!/bin/sh\necho 5 %\n", 3),
      Catch::Contains("the program of the metric score printed `5 %`, and its last line shall be its"));
  CHECK_THAT(failure("#!/bin/sh\n", 1), Catch::Contains("printed nothing"));
  CHECK_THAT(failure("#!/bin/sh\necho nan\n", 1), Catch::Contains("printed `nan`"));
  CHECK_THAT(failure("#!/bin/sh\nsleep 100\n", 2, ", timeout: 1"),
             Catch::Contains("does not end within 1 seconds"));
  CHECK_THAT(run.trainer(scored(", name: loss")).err, Catch::Contains("`loss` cannot name a metric"));
}

TEST_CASE("a program does not take itself for a rank, and ends with a run that is stopped", "[programs]") {
  const SmallRun run;
  write_program(run.path("score.py"),
                "#!/bin/sh\n[ \"$OMPI_COMM_WORLD_RANK$PMI_RANK$TRAINER_LAUNCHED\" ] || echo 7\n");
  CHECK(run.trainer(with(scored("", ""), {"--datapar"}), 2).code == 0);

  write_program(run.path("score.py"), "#!/bin/sh\nsleep 77.5 & echo $! > process; wait; echo 1\n");
  const ProgramResult stopped = run.shell(
      "$TRAINER a.yaml -s 'train.metrics=[{program: [./score.py]}]' -o stopped & run=$!; "
      "until [ -s process ]; do sleep 0.01; done; kill -INT $run; wait $run");
  INFO(stopped.err);
  CHECK(stopped.code == 130);
  CHECK(run.shell("grep -q 77.5 /proc/$(cat process)/cmdline").code != 0);
}

}  // namespace trainer
