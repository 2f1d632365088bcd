// `trainer time`: shares of a step, traces, and tables of engines.
#include <catch2/catch.hpp>
#include <sstream>

#include "tests/end_to_end/small_run.h"

namespace trainer {
namespace {

namespace fs = std::filesystem;

}  // namespace

TEST_CASE("time's shares make up the whole step, on every placement, and leave nothing behind",
          "[commands]") {
  const SmallRun run;
  std::string many_statistics = "model.layers=[{dense: 64}, ";
  for (int layer = 0; layer < 30; ++layer) many_statistics += "batch_norm, ";
  many_statistics += "{dense: 10}]";
  for (const auto& [flags, ranks] : {std::pair{std::vector<std::string>{"--threads", "2"}, 1},
                                     {{"--datapar"}, 2},
                                     {{"--modelpar"}, 2},
                                     {{"--datapar", "--shard", "parameters"}, 2},
                                     {{"--datapar", "-s", many_statistics}, 2}}) {
    std::vector<std::string> words{"time", "a.yaml", "--steps", "7"};
    words.insert(words.end(), flags.begin(), flags.end());
    const ProgramResult result = run.trainer(words, ranks);
    INFO(result.out << result.err);
    REQUIRE(result.code == 0);
    CHECK(result.out.find("\ndense1 ") != std::string::npos);
    CHECK(result.out.find("mean of 7 steps") != std::string::npos);
    CHECK(result.out.find("mnist: 40 train") != std::string::npos);
    std::istringstream lines(result.out);
    double sum = 0;
    int rows = 0;
    for (std::string line; std::getline(lines, line);)
      if (line.ends_with('%')) {
        const double share = std::stod(line.substr(line.find_last_of(' ')));
        CHECK(share >= 0);
        sum += share;
        ++rows;
      }
    // Each share is rounded to a tenth.
    CHECK(sum == Approx(100).margin(0.05 * rows));
  }
  CHECK_FALSE(fs::exists(run.path("runs")));
}

TEST_CASE("time takes its samples from those of the config's fraction", "[commands]") {
  const SmallRun run;
  const ProgramResult result =
      run.trainer({"time", "a.yaml", "--steps", "1", "-s", "train.batch=4", "-s", "data.fraction=0.5", "-s",
                   "train.log_every=1", "--trace", "t.json"});
  INFO(result.out << result.err);
  CHECK(result.code == 0);
  CHECK(result.out.find("mnist: 20 train") != std::string::npos);
}

TEST_CASE("time takes configs whose keys need evaluations or checkpoints, and few samples", "[commands]") {
  const SmallRun run;
  const std::string setting =
      GENERATE(as<std::string>{}, "train.early_stopping={patience: 2}", "train.stop={loss: 0.1}",
               "train.stop={time: 1s}", "train.on_divergence=rollback", "data.validation=0.2");
  const ProgramResult result =
      run.trainer({"time", "a.yaml", "--steps", "1", "-s", "train.batch=1", "-s", setting});
  INFO(setting << result.out << result.err);
  CHECK(result.code == 0);
}

TEST_CASE("time's trace holds each layer on each thread of each rank, within the phases of its step",
          "[commands]") {
  const SmallRun run;
  const ProgramResult result =
      run.trainer({"time", "a.yaml", "--steps", "3", "--datapar", "--threads", "2", "--trace", "t.json"}, 2);
  INFO(result.out << result.err);
  REQUIRE(result.code == 0);
  const ProgramResult check = run.shell(R"(python3 - <<'END'
import collections, json
events = [e for e in json.load(open("t.json"))["traceEvents"] if e["ph"] == "X"]
count = collections.Counter((e["pid"], e["tid"], e["cat"]) for e in events if e["name"] == "dense1")
assert count == {(r, t, c): 3 for r in (0, 1) for t in (0, 1) for c in ("forward", "backward")}, count
loads = collections.Counter((e["pid"], e["tid"]) for e in events if e["cat"] == "data")
assert loads == {(r, t): 3 for r in (0, 1) for t in (0, 1)}, loads
phases = [e for e in events if e["cat"] == "step" and e["pid"] == 1]
assert len(phases) == 15 and all(e["tid"] == 0 for e in phases), phases
inside = lambda e, p: p["ts"] <= e["ts"] and e["ts"] + e["dur"] <= p["ts"] + p["dur"] + 1e-3
layers = [e for e in events if e["cat"] != "step" and e["pid"] == 1]
assert all(any(inside(e, p) for p in phases if "forward" in p["name"]) for e in layers)
END
)");
  INFO(check.err);
  CHECK(check.code == 0);
  CHECK(run.trainer({"time", "a.yaml", "--steps", "1", "--trace", "missing/t.json"}).code == 1);
}

TEST_CASE("a run takes the engine of each shape from a table of time --engines, of which it keeps a copy",
          "[commands]") {
  const SmallRun run;
  const ProgramResult time = run.trainer(
      {"time", "a.yaml", "--steps", "4", "--threads", "1", "--engines", "e.csv", "-s", "train.exact=true"});
  INFO(time.out << time.err);
  REQUIRE(time.code == 0);
  CHECK(time.out.find("\nproduct ") != std::string::npos);
  CHECK(time.out.find("written to e.csv\n") != std::string::npos);
  // Both engines take turns: of three steps, one has two.
  const ProgramResult three =
      run.trainer({"time", "a.yaml", "--steps", "3", "--threads", "1", "--engines", "o.csv"});
  write_text(run.path("three.txt"), three.out);
  const ProgramResult check = run.shell(R"(python3 - <<'END'
lines = open("three.txt").read().split("\nproduct ")[1].split("\n\n")[0].splitlines()[1:]
calls = [line.split()[-4] for line in lines if line.endswith(("native", "openblas"))]
assert calls and all(count.isdigit() for count in calls), lines
END
)");
  INFO(three.out << check.err);
  CHECK(check.code == 0);
  const auto all_by = [&](const std::string& engine, const std::string& other) {
    std::string text = read_text(run.path("e.csv"));
    while (text.find("," + other + "\n") != std::string::npos)
      text = replaced(text, "," + other + "\n", "," + engine + "\n");
    write_text(run.path(engine + ".csv"), text);
    return text;
  };
  all_by("native", "openblas");
  const std::string table = all_by("openblas", "native");
  const auto train = [&](const std::string& engine, const std::string& out, int ranks) {
    std::vector<std::string> words{"a.yaml", "--engine",        engine, "-o", out, "-s", "train.exact=true",
                                   "-s",     "train.chain=true"};
    if (ranks > 1) words.push_back("--datapar");
    return run.trainer(words, ranks);
  };
  CHECK(train("native.csv", "native", 1).out.find("engine native (") != std::string::npos);
  CHECK(train("openblas.csv", "one", 1).out.find("engine table ") != std::string::npos);
  CHECK(train("openblas.csv", "two", 2).code == 0);
  CHECK(read_text(run.path("one/chain.jsonl")) == read_text(run.path("two/chain.jsonl")));

  const ProgramResult refused = run.trainer({"one", "--engine", "native", "-s", "train.epochs=2"});
  CHECK(refused.code == 2);
  CHECK(refused.err.find("error: an exact run cannot change its engine from table ") == 0);
  const std::size_t begin = refused.err.find("one/engines-");
  REQUIRE(begin != std::string::npos);
  const std::string copy = refused.err.substr(begin, refused.err.find(',', begin) - begin);
  CHECK(read_text(run.path(copy)) == table);
  CHECK(run.trainer({"one", "--engine", copy, "-s", "train.epochs=2"}).code == 0);
  CHECK(run.trainer({"verify", "two", "--engine", copy}).code == 0);
}

TEST_CASE("a table of engines that is missing, damaged or of other kernels ends with 2", "[commands]") {
  const SmallRun run;
  REQUIRE(run.trainer({"time", "a.yaml", "--steps", "2", "--engines", "e.csv"}).code == 0);
  const std::string text = read_text(run.path("e.csv"));
  const auto mistake = [&](const std::string& file, const std::string& setting = "train.seed=1") {
    const ProgramResult result = run.trainer({"a.yaml", "--engine", file, "-s", setting});
    CHECK(result.code == 2);
    return result.err;
  };
  CHECK(mistake("none.csv").starts_with("error: --engine none.csv: no such file\n"));
  CHECK(mistake("opneblas").find("did you mean `openblas`?") != std::string::npos);
  write_text(run.path("damaged.csv"), text + "A B,1\n");
  CHECK(mistake("damaged.csv").starts_with("error: this is no line of an engine table\n  --> damaged.csv:"));
  write_text(run.path("other.csv"), replaced(text, "# kernels: ", "# kernels: AVX-1024, "));
  CHECK(mistake("other.csv").starts_with("error: the engine table was measured with AVX-1024, "));
  write_text(run.path("openblas.csv"), text + "A B,1,1,1,2.0,1.0,openblas\n");
  CHECK(mistake("openblas.csv", "train.exact={portable: true}")
            .starts_with("error: the products of OpenBLAS "));
  CHECK(mistake("openblas.csv", "train.precision=bf16")
            .starts_with("error: OpenBLAS has no products of bfloat16"));
  CHECK(run.trainer({"time", "a.yaml", "--engines", "native"}).code == 2);
  CHECK_FALSE(fs::exists(run.path("runs")));
}

}  // namespace trainer
