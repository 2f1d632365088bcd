// The output of each command, the files of a run, and their use by other commands.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/end_to_end/small_run.h"

namespace trainer {
namespace {

namespace fs = std::filesystem;

std::vector<nlohmann::json> json_lines(const std::string& text) {
  std::istringstream stream(text);
  std::vector<nlohmann::json> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(nlohmann::json::parse(line));
  return lines;
}

/// The columns of results.csv that do not depend on the clock.
std::string timeless(const std::string& results) {
  std::istringstream stream(results);
  std::vector<std::string> names;
  std::string text;
  for (std::string line; std::getline(stream, line);) {
    std::vector<std::string> cells;
    std::istringstream row(line);
    for (std::string cell; std::getline(row, cell, ',');) cells.push_back(cell);
    if (names.empty()) names = cells;
    for (std::size_t i = 0; i < cells.size(); ++i)
      if (names[i] == "epoch" || names[i] == "lr" || names[i].find('/') != std::string::npos)
        text += cells[i] + " ";
    text += "\n";
  }
  return text;
}

}  // namespace

TEST_CASE("fetch lists its datasets, and without a network names the URL and the folder", "[commands]") {
  const SmallRun run;
  CHECK_THAT(run.trainer({"fetch", "--list"}).out, Catch::Contains("mnist") && Catch::Contains("cifar100"));
  const ProgramResult result = run.shell("https_proxy=http://127.0.0.1:9 $TRAINER fetch mnist --to data");
  CHECK(result.code == 3);
  CHECK_THAT(result.err,
             Catch::Contains("https://ossci-datasets.s3.amazonaws.com/mnist/train-images-idx3-ubyte.gz") &&
                 Catch::Contains("into data/mnist"));
  CHECK(run.trainer({"fetch", "mnits"}).code == 2);
  CHECK_THAT(
      run.shell(
             "https_proxy=http://127.0.0.1:9 $TRAINER fetch iris --mirror http://127.0.0.1:9/sets --to data")
          .err,
      Catch::StartsWith("warning: http://127.0.0.1:9/sets/iris.csv: "));
}

TEST_CASE("a run prints its header, its epochs and what to do next", "[commands]") {
  const SmallRun run;
  const ProgramResult result = run.trainer({"a.yaml", "-s", "train.epochs=2"});
  INFO(result.out);
  CHECK(result.code == 0);
  CHECK(result.err.empty());
  CHECK(result.out.find("a             1 rank, 1 thread, ") == 0);
  CHECK(result.out.find("data          mnist: 40 train, 20 test, 1x28x28, 10 classes\n") !=
        std::string::npos);
  CHECK(result.out.find("model         2 layers, 6,370 parameters (24.9 KiB)\n") != std::string::npos);
  CHECK(result.out.find("dense1 8 · dense2 10\n") != std::string::npos);
  CHECK(result.out.find("train         2 epochs x 5 steps, batch 8, sgd lr 0.1, seed 1\n") !=
        std::string::npos);
  CHECK(result.out.find("run           runs/a\n") != std::string::npos);
  CHECK(result.out.find("\n   2/2 ") != std::string::npos);
  CHECK(result.out.find("\nbest  epoch ") != std::string::npos);
  CHECK(result.out.find("\nsaved runs/a   view: report.html   use: trainer eval runs/a\n") !=
        std::string::npos);
}

TEST_CASE("drawn digits in place of a set are reported once, before the table", "[commands]") {
  const SmallRun run;
  write_text(run.path("a.yaml"), replaced(kSmallRun, "path: set", "path: elsewhere, fallback: digits"));
  const std::vector<std::string> words{"a.yaml", "-s", "train.steps=1", "-s", "train.evaluate=never"};
  const std::string notice = "mnist not found: drawn digits instead (data.fallback)\n";
  const ProgramResult result = run.trainer(words);
  CHECK(occurrences(result.out + result.err, "not found") == 1);
  CHECK(result.out.find(" 1x28x28, 10 classes\n              " + notice) != std::string::npos);
  for (const auto& quiet : std::vector<std::vector<std::string>>{{"-q"}, {"--progress", "json"}}) {
    std::vector<std::string> more = words;
    more.insert(more.end(), quiet.begin(), quiet.end());
    CHECK(run.trainer(more).err.find("note: " + notice) != std::string::npos);
  }
}

TEST_CASE("four processes print once", "[commands]") {
  const SmallRun run;
  const ProgramResult result = run.trainer({"a.yaml", "--datapar"}, 4);
  INFO(result.out);
  CHECK(result.code == 0);
  CHECK(result.out.find("a             4 ranks (4 data x 1 model) on 1 host, 1 thread each, ") == 0);
  CHECK(result.out.find("batch 8 (2 a rank)") != std::string::npos);
  CHECK(occurrences(result.out, "saved runs/a ") == 1);
}

TEST_CASE("a run directory holds the description and the results of its run", "[commands]") {
  const SmallRun run;
  REQUIRE(run.trainer({"a.yaml", "-s", "train.epochs=2", "-s", "train.log_every=1", "--name", "it's"}).code ==
          0);
  const fs::path directory = run.path("runs/it's");
  CHECK(read_text(directory / "command.txt")
            .find(R"(a.yaml -s train.epochs=2 -s train.log_every=1 --name 'it'\''s')") != std::string::npos);
  CHECK(nlohmann::json::parse(read_text(directory / "environment.json"))["ranks"] == 1);
  CHECK(read_text(directory / "results.csv")
            .find("epoch,time,train/loss,train/accuracy,test/loss,test/"
                  "accuracy,lr,examples_per_second,comm_share,wait_share,data_share\n1,") == 0);
  const auto metrics = json_lines(read_text(directory / "metrics.jsonl"));
  REQUIRE(metrics.size() == 12);
  CHECK(metrics[0]["step"] == 1);
  CHECK(metrics[5]["split"] == "test");
  CHECK(metrics[11]["epoch"] == 2);
  for (const char* name : {"model.safetensors", "optimizer.safetensors", "state.json"})
    CHECK(fs::is_regular_file(directory / "checkpoints/last" / name));
  CHECK(fs::is_symlink(directory / "checkpoints/best"));
}

TEST_CASE("the resolved config of a run repeats it, to the last bit of its weights", "[commands]") {
  const SmallRun run;
  REQUIRE(run.trainer({"a.yaml", "-s", "train.epochs=2", "--seed", "5", "-o", "one"}).code == 0);
  REQUIRE(run.trainer({"one/config.yaml"}).code == 0);
  CHECK(timeless(read_text(run.path("runs/one/results.csv"))) ==
        timeless(read_text(run.path("one/results.csv"))));
  CHECK(read_text(run.path("runs/one/config.yaml")) == read_text(run.path("one/config.yaml")));
  const std::string weights = "checkpoints/last/model.safetensors";
  CHECK(read_text(run.path("runs/one") / weights) == read_text(run.path("one") / weights));
}

TEST_CASE("decaying values never become subnormal, which would slow processors down", "[commands]") {
  const SmallRun run;
  // No pixel is negative, so all units of the first layer output 0, and its weights only shrink.
  REQUIRE(run.trainer({"a.yaml", "-s", "model.layers[0].dense.init={constant: -1}", "-s",
                       "train.optimizer={sgd: {lr: 0.1, weight_decay: 1}}", "-s", "train.epochs=200", "-s",
                       "train.evaluate=never", "-o", "run"})
              .code == 0);
  const std::string file = read_text(run.path("run/checkpoints/last/model.safetensors"));
  std::uint64_t header = 0;
  std::memcpy(&header, file.data(), sizeof header);
  std::vector<float> weights((file.size() - sizeof header - header) / sizeof(float));
  std::memcpy(weights.data(), file.data() + sizeof header + header, weights.size() * sizeof(float));
  CHECK(weights.size() > 8 * 28 * 28);
  CHECK(std::ranges::none_of(weights, [](float weight) { return std::fpclassify(weight) == FP_SUBNORMAL; }));
}

TEST_CASE("the confusion matrix is shown by eval and kept with the metrics", "[commands]") {
  const SmallRun run;
  REQUIRE(run.trainer({"a.yaml", "-o", "run", "-s", "train.metrics=[confusion, accuracy]"}).code == 0);
  const ProgramResult shown = run.trainer({"eval", "run"});
  INFO(shown.out);
  CHECK(shown.out.find("\nconfusion: a row for each true class, a column for each predicted one\nclass  0") !=
        std::string::npos);
  const auto last = json_lines(read_text(run.path("run/metrics.jsonl"))).back();
  double samples = 0;
  for (const auto& row : last["confusion"])
    for (const auto& count : row) samples += count.get<double>();
  CHECK(samples == 20);
  CHECK(last.contains("balanced_accuracy"));
}

TEST_CASE("without checkpoints none is written and none is offered", "[commands]") {
  const SmallRun run;
  const ProgramResult result = run.trainer({"a.yaml", "-s", "train.checkpoint=never", "-q"});
  CHECK(result.code == 0);
  CHECK(result.out.find("best  epoch 1") == 0);
  CHECK(result.out.find("trainer eval") == std::string::npos);
  CHECK_FALSE(fs::exists(run.path("runs/a/checkpoints")));
  CHECK(run.trainer({"eval", "runs/a"}).code == 6);
}

TEST_CASE("eval of a run whose checkpoint was removed names it, and those that exist", "[commands]") {
  const SmallRun run;
  REQUIRE(run.trainer({"a.yaml", "-q", "-s", "train.checkpoint={steps: 1, keep: 3}"}).code == 0);
  const fs::path checkpoints = run.path("runs/a/checkpoints");
  const std::string link = GENERATE("best", "last");
  const std::string gone = fs::read_symlink(checkpoints / link).string();
  if (link == "last") fs::remove(checkpoints / "best");
  fs::remove_all(checkpoints / gone);
  const std::string broken = "runs/a/checkpoints/" + link;
  for (const std::string& path : {std::string("runs/a"), broken}) {
    const ProgramResult result = run.trainer({"eval", path});
    INFO(result.out << result.err);
    CHECK(result.code == 6);
    CHECK(result.err.find(fmt::format("{} is a link to {}, which is not there", broken, gone)) !=
          std::string::npos);
    CHECK(result.err.find("beside it: step-") != std::string::npos);
  }
}

TEST_CASE("json progress is an object a line, from start to end", "[commands]") {
  const SmallRun run;
  const ProgramResult result = run.trainer({"a.yaml", "--progress", "json", "-s", "train.log_every=2"});
  CHECK(result.code == 0);
  const auto lines = json_lines(result.out);
  REQUIRE(lines.size() == 5);
  CHECK(lines.front()["event"] == "start");
  CHECK(lines[1]["step"] == 2);
  CHECK(lines[3]["split"] == "test");
  CHECK(lines.back()["event"] == "end");
  CHECK(lines.back()["run"] == "runs/a");
}

TEST_CASE("quiet json is the object of the end alone", "[commands]") {
  const SmallRun run;
  const ProgramResult result = run.trainer({"a.yaml", "-q", "--progress", "json"});
  CHECK(result.code == 0);
  const auto lines = json_lines(result.out);
  REQUIRE(lines.size() == 1);
  CHECK(lines[0]["event"] == "end");
}

TEST_CASE("a finished run is reported as an object if progress is json", "[commands]") {
  const SmallRun run;
  REQUIRE(run.trainer({"a.yaml"}).code == 0);
  const ProgramResult again = run.trainer({"runs/a", "--progress", "json"});
  CHECK(again.code == 0);
  const auto lines = json_lines(again.out);
  REQUIRE(lines.size() == 1);
  CHECK(lines[0]["event"] == "finished");
  CHECK(lines[0]["steps"] == 5);
}

TEST_CASE("eval counts every sample once, on any number of ranks", "[commands]") {
  const SmallRun run;
  REQUIRE(run.trainer({"a.yaml"}).code == 0);
  const ProgramResult alone = run.trainer({"eval", "runs/a"});
  CHECK(alone.code == 0);
  CHECK(alone.out.find("test: mnist, 20 samples\nloss ") != std::string::npos);
  CHECK(alone.out.find(" of 20)") != std::string::npos);
  const auto loss_of = [](const std::string& text) { return std::stod(text.substr(text.find("loss ") + 5)); };
  const auto count_of = [](const std::string& text) { return text.substr(text.find("accuracy ")); };
  for (const char* mode : {"--datapar", "--modelpar"}) {
    const ProgramResult many = run.trainer({"eval", mode, "runs/a"}, 3);
    INFO(many.err);
    CHECK(many.code == 0);
    CHECK(loss_of(many.out) == Approx(loss_of(alone.out)).epsilon(1e-6));
    CHECK(count_of(many.out) == count_of(alone.out));
  }
  CHECK(run.trainer({"eval", "runs/a/checkpoints/last"}).out.find(count_of(alone.out)) != std::string::npos);
  CHECK(run.trainer({"eval", "runs/a", "--split", "train"}).out.find("train: mnist, 40 samples") !=
        std::string::npos);
  CHECK(run.trainer({"eval", "runs/a", "--split", "valid"}).code == 2);
}

TEST_CASE("check reports every mistake in every file, and trains nothing", "[commands]") {
  const SmallRun run;
  write_text(run.path("b.yaml"), replaced(kSmallRun, "units: 8", "unit: 8"));
  write_text(run.path("c.yaml"), replaced(kSmallRun, "batch: 8", "batch: 0"));
  const ProgramResult fine = run.trainer({"check", "a.yaml"});
  CHECK(fine.code == 0);
  CHECK(fine.out == "a.yaml: ok\nmnist: 40 train, 20 test, 1x28x28, 10 classes\n");
  const ProgramResult result = run.trainer({"check", "a.yaml", "b.yaml", "c.yaml"});
  CHECK(result.code == 2);
  CHECK(result.out == fine.out);
  CHECK(result.err.find("b.yaml:4:") != std::string::npos);
  CHECK(result.err.find("c.yaml:") != std::string::npos);
  const ProgramResult warned = run.trainer({"check", "a.yaml", "b.yaml", "-s", "train.optimizer.sgd.lr=100"});
  CHECK(warned.code == 2);
  CHECK(warned.err.find("warning: a learning rate of 100 is very high") == 0);
  CHECK(warned.err.find("b.yaml:4:") != std::string::npos);
  CHECK_FALSE(fs::exists(run.path("runs")));
}

TEST_CASE("check --gradients compares each parameter and trains nothing", "[commands]") {
  const SmallRun run;
  const ProgramResult result = run.trainer({"check", "a.yaml", "--gradients"});
  CHECK(result.code == 0);
  INFO(result.out);
  for (const char* parameter : {"dense1  weight", "dense1  bias", "dense2  weight", "dense2  bias"})
    CHECK(result.out.find(parameter) != std::string::npos);
  CHECK(occurrences(result.out, "  ok\n") == 4);
  CHECK_FALSE(fs::exists(run.path("runs")));
  CHECK(run.trainer({"check", "a.yaml", "--gradients", "-s", "train.precision=bf16"}).out == result.out);
  CHECK(run.trainer({"check", "a.yaml", "--gradients", "-s", "model.layers[1].dense=7"}).code == 2);
  CHECK(run.trainer({"check", "a.yaml", "--gradients", "-s", "train.exact=true", "-s", "train.chain=true"})
            .out == result.out);
}

TEST_CASE("config prints YAML that resolves to itself", "[commands]") {
  const SmallRun run;
  const ProgramResult once = run.trainer({"config", "a.yaml", "-s", "train.batch=16"});
  REQUIRE(once.code == 0);
  CHECK(once.out.find("batch: 16") != std::string::npos);
  write_text(run.path("resolved.yaml"), once.out);
  CHECK(run.trainer({"config", "resolved.yaml"}).out == once.out);
}

TEST_CASE("summary, schema and info print layers, the schema and the machine", "[commands]") {
  const SmallRun run;
  const ProgramResult summary = run.trainer({"summary", "a.yaml"});
  CHECK(summary.code == 0);
  CHECK(summary.out.find("dense1") != std::string::npos);
  CHECK(summary.out.find("6,370") != std::string::npos);
  CHECK(summary.out.find("dense1  dense, relu") != std::string::npos);
  const ProgramResult cut = run.trainer({"summary", "--modelpar", "a.yaml"}, 2);
  for (const char* count : {" 6,280 ", " 90 ", " 6,370 "}) CHECK(cut.out.find(count) != std::string::npos);
  const ProgramResult schema = run.trainer({"schema"});
  CHECK(nlohmann::json::parse(schema.out)["$schema"] == "http://json-schema.org/draft-07/schema#");
  const ProgramResult info = run.trainer({"info"});
  CHECK(info.code == 0);
  for (const char* word : {"cpu ", "blas ", "mpi ", "cores "})
    CHECK(info.out.find(word) != std::string::npos);
}

TEST_CASE("a run with --profile keeps a trace of some steps, and has the same weights", "[commands]") {
  const SmallRun run;
  const std::vector<std::string> words{
      "a.yaml", "-q", "-s", "train.epochs=4", "-s", "train.exact=true", "--datapar", "--threads", "1", "-o"};
  const auto train = [&](const std::string& out, bool profiles) {
    std::vector<std::string> all = words;
    all.push_back(out);
    if (profiles) all.push_back("--profile");
    REQUIRE(run.trainer(all, 2).code == 0);
    return read_text(run.path(out) / "checkpoints/last/model.safetensors");
  };
  CHECK(train("plain", false) == train("profiled", true));
  CHECK_FALSE(fs::exists(run.path("plain/trace.json")));
  const ProgramResult check = run.shell(R"(python3 - <<'END'
import collections, json
events = [e for e in json.load(open("profiled/trace.json"))["traceEvents"] if e["ph"] == "X"]
count = collections.Counter((e["pid"], e["cat"]) for e in events if e["name"] == "dense1")
assert count == {(r, c): 10 for r in (0, 1) for c in ("forward", "backward")}, count
END
)");
  INFO(check.err);
  CHECK(check.code == 0);
  const ProgramResult local =
      run.trainer({"a.yaml", "--profile", "-s", "train.local={steps: 2, virtual_workers: 2}"});
  CHECK(local.code == 2);
  CHECK(local.err.find("--profile records layers of steps") != std::string::npos);
}

TEST_CASE("a trace that cannot be written is a warning, and the run ends with its last lines", "[commands]") {
  const SmallRun run;
  REQUIRE(run.trainer({"a.yaml", "-o", "kept"}).code == 0);
  fs::create_directory(run.path("kept/trace.json"));
  const ProgramResult result = run.trainer({"kept", "--profile", "-s", "train.epochs=2"});
  INFO(result.out << result.err);
  CHECK(result.code == 0);
  CHECK(result.err.find("warning: trace.json is not written: cannot write ") == 0);
  CHECK(result.out.find("\nsaved kept ") != std::string::npos);
}

TEST_CASE("a report that cannot be written is a warning, and the last line does not name it", "[commands]") {
  const SmallRun run;
  REQUIRE(run.trainer({"a.yaml", "-o", "kept"}).code == 0);
  fs::remove(run.path("kept/report.html"));
  fs::create_directory(run.path("kept/report.html"));
  const ProgramResult result = run.trainer({"kept", "-s", "train.epochs=2"});
  INFO(result.out << result.err);
  CHECK(result.code == 0);
  CHECK(result.err.find("warning: report.html is not written: cannot write ") == 0);
  CHECK(result.out.find("\nsaved kept   use: trainer eval kept\n") != std::string::npos);
}

TEST_CASE("a configuration from a pipe serves commands that read it several times", "[commands]") {
  const SmallRun run;
  for (const char* command : {"time", "lr-find", "forecast -n 1,2", "plan", "cv --folds 2"}) {
    const ProgramResult result = run.shell(fmt::format("cat a.yaml | $TRAINER {} /dev/stdin", command));
    INFO(command << '\n' << result.err);
    CHECK(result.code == 0);
  }
}

TEST_CASE("a configuration from a pipe is a mistake for several processes", "[commands]") {
  const SmallRun run;
  const ProgramResult result = run.shell("cat a.yaml | $TRAINER -n 2 --datapar /dev/stdin");
  CHECK(result.code == 2);
  CHECK(result.err ==
        "error: /dev/stdin is a pipe: the processes of -n cannot all read it\n"
        "help: save the configuration to a file\n");
}

TEST_CASE("the wrong word ends with 2 and the right one", "[commands]") {
  const SmallRun run;
  const ProgramResult verb = run.trainer({"sumary", "a.yaml"});
  CHECK(verb.code == 2);
  CHECK(verb.err == "error: unknown command `sumary`\nhelp: did you mean `summary`?\n");
  CHECK(run.trainer({"--help"}).code == 0);
  CHECK(run.trainer({"--version"}).out.find("trainer ") == 0);
  CHECK(run.trainer({"nope.yaml"}).err.find("nope.yaml") != std::string::npos);
}

TEST_CASE("control characters of names and paths reach no terminal", "[commands]") {
  const SmallRun run;
  const ProgramResult trained = run.trainer({"a.yaml", "-o", "r\x1b]0;x\a\nuns"});
  CHECK(trained.code == 0);
  CHECK(trained.out.find("run           r\\x1b]0;x\\x07\\nuns\n") != std::string::npos);
  CHECK(trained.out.find("\nsaved $'r\\x1b]0;x\\x07\\x0auns'   ") != std::string::npos);
  const ProgramResult evaluated = run.trainer({"eval", "r\x1b]0;x\a\nuns"});
  CHECK(evaluated.code == 0);
  const ProgramResult compared = run.trainer({"compare", "r\x1b]0;x\a\nuns"});
  CHECK(compared.out.find("\nr\\x1b]0;x\\x07\\nuns  ") != std::string::npos);
  fs::rename(run.path("a.yaml"), run.path("a\x1b.yaml"));
  const ProgramResult checked = run.trainer({"check", "a\x1b.yaml"});
  CHECK(checked.out.starts_with("a\\x1b.yaml: ok\n"));
  const ProgramResult missing = run.trainer({"b\x1b\n.yaml"});
  for (const ProgramResult& result : {trained, evaluated, compared, checked, missing})
    for (const std::string& text : {result.out, result.err})
      CHECK(text.find_first_of("\x1b\a") == std::string::npos);
}

}  // namespace trainer
