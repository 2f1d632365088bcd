// What is done with runs that were trained: report, compare, predict, generate.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>

#include "engine/system/files.h"
#include "tests/end_to_end/small_run.h"
#include "tests/support/images.h"

namespace trainer {
namespace {

namespace fs = std::filesystem;

void write_bytes(const fs::path& path, const Bytes& bytes) {
  fs::create_directories(path.parent_path());
  write_text(path, std::string(bytes.begin(), bytes.end()));
}

}  // namespace

TEST_CASE("a run leaves a report, which can be made again", "[runs]") {
  const SmallRun run;
  REQUIRE(run.trainer({"a.yaml", "-s", "train.log_every=1", "-s", "train.metrics=[confusion]"}).code == 0);
  const fs::path file = run.path("runs/a/report.html");
  const std::string page = read_text(file);
  for (const char* part : {"<svg", "predicted 9", "dense1.weight", "batch: 8"})
    CHECK(page.find(part) != std::string::npos);
  fs::remove(file);
  CHECK(run.trainer({"report", "runs/a"}).out == "runs/a/report.html\n");
  CHECK(read_text(file) == page);
  CHECK(run.trainer({"report", "set"}).code == 2);
  fs::create_directories(run.path("x/y"));
  fs::copy(run.path("runs/a/checkpoints/best/"), run.path("x/y/checkpoint"), fs::copy_options::recursive);
  CHECK(run.trainer({"report", "x/y/checkpoint"}).code == 2);
  CHECK_FALSE(fs::exists(run.path("x/report.html")));
  write_text(run.path("runs/a/metrics.jsonl"), R"({"step":1,"epoch":1,"split":"../../../out","loss":1})");
  CHECK(run.trainer({"report", "runs/a", "--tensorboard"}).code == 0);
  CHECK_FALSE(fs::exists(run.path("out")));
  CHECK(run.trainer({"a.yaml", "-o", "wild", "-s", "train.optimizer.sgd.lr=1e30", "--datapar"}, 2).code == 5);
  CHECK(fs::exists(run.path("wild/report.html")));
}

TEST_CASE("a run keeps the samples with the highest loss, the same ones on any ranks", "[runs]") {
  const SmallRun run;
  const auto train = [&](const std::string& out, int ranks) {
    REQUIRE(run.trainer({"a.yaml", "-q", "-o", out, "-s", "train.exact=true", "--datapar"}, ranks).code == 0);
    return read_text(run.path(out) / "samples.json");
  };
  const std::string text = train("whole", 1);
  CHECK(train("many", 3) == text);
  const auto json = nlohmann::json::parse(text);
  REQUIRE(json["worst"].size() == 12);
  CHECK(json["spread"].size() == 8);
  double before = std::numeric_limits<double>::infinity();
  int compared = 0;
  for (const auto& sample : json["worst"]) {
    const double loss = sample["loss"];
    CHECK(loss <= before);
    before = loss;
    CHECK(sample["image"].get<std::string>().starts_with("iVBORw0KGgo"));  // PNG
    for (const auto& prediction : sample["predicted"])
      if (prediction[0] == sample["target"]) {
        CHECK(-std::log(prediction[1].get<double>()) == Approx(loss).epsilon(1e-4));
        ++compared;
      }
  }
  CHECK(compared > 0);
  int reviewed = 0, right = 0;
  for (std::size_t row = 0; row < json["confusion"].size(); ++row) {
    for (const int count : json["confusion"][row]) reviewed += count;
    right += json["confusion"][row][row].get<int>();
  }
  const std::string results = run.trainer({"eval", "whole"}).out;
  INFO(results);
  CHECK(results.find(std::to_string(reviewed) + " samples") != std::string::npos);
  CHECK(results.find(fmt::format("accuracy {:.2f}%", 100.0 * right / reviewed)) != std::string::npos);
  CHECK(read_text(run.path("many/report.html")).find("<h2>confusion, best evaluation</h2>") !=
        std::string::npos);
  for (const auto& sample : json["spread"]) CHECK(sample["loss"] <= json["worst"][0]["loss"]);
  CHECK(read_text(run.path("many/report.html")).find("Worst mistakes") != std::string::npos);
  CHECK(occurrences(read_text(run.path("many/ranks.csv")), "\n") == 4);
}

TEST_CASE("a run that is killed has the samples of its best evaluation", "[runs]") {
  const SmallRun run;
  const ProgramResult killed = run.shell(
      "$TRAINER a.yaml -q -o a -s train.epochs=1000000 & run=$!; "
      "while kill -0 $run && [ ! -s a/samples.json ]; do sleep 0.01; done; kill -9 $run; wait $run");
  INFO(killed.err);
  CHECK(nlohmann::json::parse(read_text(run.path("a/samples.json")))["worst"].size() == 12);
  REQUIRE(run.trainer({"report", "a"}).code == 0);
  CHECK(read_text(run.path("a/report.html")).find("Worst mistakes") != std::string::npos);
}

TEST_CASE("the samples of a table are rows, and those of a text are texts", "[runs]") {
  const SmallRun run;
  write_text(run.path("t.csv"), "size,kind,price\n1,a,3\n2,b,1\n3,a,4\n4,b,1\n5,a,5\n6,b,9\n7,a,2\n8,b,6\n");
  write_text(
      run.path("t.yaml"),
      "data: {dataset: {csv: {train: t.csv, target: price, targets: numbers}}, validation: 0.5, normalize: "
      "per_channel}\nmodel: {layers: [{dense: 1}], loss: mse}\n"
      "train: {epochs: 1, batch: 2, optimizer: {sgd: {lr: 0.01}}}\n");
  REQUIRE(run.trainer({"t.yaml", "-q"}).code == 0);
  const auto rows = nlohmann::json::parse(read_text(run.path("runs/t/samples.json")));
  REQUIRE(rows["worst"].size() == 4);
  for (const auto& sample : rows["worst"]) {
    const double size = std::stod(sample["fields"][0][1].get<std::string>());
    CHECK(sample["fields"][1][1] == (std::lround(size) % 2 == 1 ? "a" : "b"));
  }
  write_small_text(run.path("t.txt"), 2000);
  write_text(run.path("g.yaml"),
             "data: {dataset: {text: {file: t.txt, tokens: bytes, sequence: 16}}, validation: 0.2}\n"
             "model: {layers: [{embedding: 8}, {dense: $vocab}], loss: softmax_cross_entropy}\n"
             "train: {steps: 4, batch: 4, optimizer: {sgd: {lr: 0.01}}}\n");
  REQUIRE(run.trainer({"g.yaml", "-q"}).code == 0);
  const auto texts = nlohmann::json::parse(read_text(run.path("runs/g/samples.json")));
  const std::string text = read_text(run.path("t.txt"));
  for (const auto& sample : texts["worst"])
    CHECK(text.find(sample["text"].get<std::string>()) != std::string::npos);
}

TEST_CASE("logged gradients are the same on any ranks, in a resumed run, and in the report", "[runs]") {
  const SmallRun run;
  const auto train = [&](const std::string& out, std::vector<std::string> more, int ranks) {
    std::vector<std::string> words{"a.yaml", "-q", "-o", out};
    for (const char* setting : {"train.exact=true", "train.log_every=2", "train.log={gradients: true}"})
      words.insert(words.end(), {"-s", setting});
    words.insert(words.end(), more.begin(), more.end());
    CHECK(run.trainer(words, ranks).code == 0);
    return read_text(run.path(out) / "gradients.csv");
  };
  const std::string whole = train("whole", {"-s", "train.epochs=2"}, 1);
  INFO(whole);
  CHECK(whole.find("step,dense1/gradient,dense1/update_ratio,dense2/gradient,dense2/update_ratio\n2,") == 0);
  CHECK(occurrences(whole, "\n") == 6);
  CHECK(read_text(run.path("whole/report.html")).find("<b>gradient norm</b>") != std::string::npos);
  CHECK(train("many", {"-s", "train.epochs=2", "--datapar"}, 3) == whole);
  CHECK(train("split", {"-s", "train.epochs=2", "--modelpar"}, 2) == whole);
  train("half", {"-s", "train.epochs=1"}, 1);
  write_text(run.path("half/gradients.csv"), read_text(run.path("half/gradients.csv")) + "6,1,2,3,4\n7,");
  REQUIRE(run.trainer({"half", "-s", "train.epochs=2", "-q"}).code == 0);
  CHECK(read_text(run.path("half/gradients.csv")) == whole);
  REQUIRE(run.trainer({"a.yaml", "-o", "plain", "-q"}).code == 0);
  CHECK_FALSE(fs::exists(run.path("plain/gradients.csv")));
  const ProgramResult refused = run.trainer(
      {"a.yaml", "-s", "train.log={gradients: true}", "-s", "train.local={steps: 2, virtual_workers: 2}"});
  CHECK(refused.code == 2);
  CHECK(refused.err.find("remove log.gradients or local") != std::string::npos);
}

TEST_CASE("a layer's name with a comma is quoted in gradients.csv and whole in the report", "[runs]") {
  const SmallRun run;
  REQUIRE(run.trainer({"a.yaml", "-o", "run", "-q", "-s", "model.layers[0].dense.name='a,\"b'", "-s",
                       "train.log={gradients: true}", "-s", "train.log_every=5"})
              .code == 0);
  CHECK_THAT(read_text(run.path("run/gradients.csv")),
             Catch::StartsWith("step,\"a,\"\"b/gradient\",\"a,\"\"b/update_ratio\",dense1/gradient,"));
  CHECK_THAT(read_text(run.path("run/report.html")), Catch::Contains("a,&quot;b</"));
}

TEST_CASE("a frozen layer has no logged gradient", "[runs]") {
  const SmallRun run;
  REQUIRE(run.trainer({"a.yaml", "-o", "run", "-q", "-s", "model.layers[0].dense.frozen=true", "-s",
                       "train.log={gradients: true}", "-s", "train.log_every=5"})
              .code == 0);
  CHECK(read_text(run.path("run/gradients.csv")).find("step,dense2/gradient,dense2/update_ratio\n5,") == 0);
}

TEST_CASE("compare prints the results of runs and the settings in which they differ", "[runs]") {
  const SmallRun run;
  REQUIRE(run.trainer({"a.yaml", "-o", "one"}).code == 0);
  REQUIRE(
      run.trainer({"a.yaml", "-o", "two", "-s", "train.optimizer={adam: {lr: 0.01}}", "--seed", "7"}).code ==
      0);
  const ProgramResult result = run.trainer({"compare", "one", "two"});
  INFO(result.out);
  CHECK(result.code == 0);
  CHECK(result.out.find("run  steps  ") == 0);
  CHECK(result.out.find("\none      5  ") != std::string::npos);
  // As a table of both runs the settings would be too wide.
  CHECK(result.out.find("\ntrain.optimizer\n  {") != std::string::npos);
  CHECK(result.out.find("\n  {sgd: {lr: 0.1, ") != std::string::npos);
  CHECK(result.out.find("\n  {adam: {lr: 0.01, ") != std::string::npos);
  CHECK(result.out.find("\n  7: two\n") != std::string::npos);
  CHECK(result.out.find("train.batch") == std::string::npos);
  CHECK(result.out.find("\nmachines\n  1 rank x ") != std::string::npos);
  REQUIRE(run.trainer({"a.yaml", "-o", "three", "--seed", "7", "-q"}).code == 0);
  CHECK(run.trainer({"compare", "one", "three"}).out.find("\nsetting     ") != std::string::npos);
  CHECK(run.trainer({"compare", "one", "one"}).out.find("all settings are the same\n") != std::string::npos);
}

TEST_CASE("compare shows of long lists of layers the part in which they differ", "[runs]") {
  const SmallRun run;
  std::string layers;
  for (int i = 0; i < 12; ++i) layers += "{dense: {units: 8, activation: relu}}, ";
  for (const char* name : {"one", "two"})
    REQUIRE(run.trainer({"a.yaml", "-q", "-o", name, "-s",
                         "model.layers=[" + layers + (name[0] == 't' ? "dropout: 0.5, " : "") + "dense: 10]"})
                .code == 0);
  std::istringstream lines(run.trainer({"compare", "one", "two"}).out);
  std::string two;
  for (std::string line; std::getline(lines, line);) {
    CHECK(line.size() <= 80);
    if (line.ends_with(": two")) two = line;
  }
  INFO(two);
  CHECK(two.find("  ... ") == 0);
  CHECK(two.find("{dropout: {rate: 0.5}}") != std::string::npos);
}

TEST_CASE("compare puts the best run first, also as JSON", "[runs]") {
  const SmallRun run;
  for (const char* lr : {"0", "0.3", "0.001"})
    REQUIRE(run.trainer({"a.yaml", "-q", "-o", "lr" + std::string(lr), "-s", "train.epochs=3", "-s",
                         "train.optimizer.sgd.lr=" + std::string(lr), "-s", "train.metrics=[]"})
                .code == 0);
  const auto compared = [&](const std::vector<std::string>& names) {
    std::vector<std::string> words{"compare", "--json"};
    words.insert(words.end(), names.begin(), names.end());
    std::istringstream text(run.trainer(words).out);
    std::vector<nlohmann::json> lines;
    for (std::string line; std::getline(text, line);) lines.push_back(nlohmann::json::parse(line));
    return lines;
  };
  const std::vector<nlohmann::json> lines = compared({"lr0", "lr0.001", "lr0.3"});
  REQUIRE(lines.size() == 3);
  CHECK(lines == compared({"lr0.3", "lr0.001", "lr0"}));
  CHECK(lines[0]["scores"]["loss"] < lines[1]["scores"]["loss"]);
  CHECK(lines[1]["scores"]["loss"] < lines[2]["scores"]["loss"]);
  for (const nlohmann::json& line : lines) {
    CHECK(line["steps"] == 15);
    CHECK(line["run"] == "lr" + line["settings"]["train.optimizer.sgd.lr"].get<std::string>());
  }
  const std::string best = lines[0]["run"], worst = lines[2]["run"];
  const std::string shown = run.trainer({"compare", worst, best}).out;
  CHECK(shown.find("\n" + best + " ") < shown.find("\n" + worst + " "));
}

TEST_CASE("predict sees images as eval does", "[runs]") {
  const SmallRun run;
  REQUIRE(
      run.trainer({"a.yaml", "-o", "run", "-s", "train.epochs=5", "-s", "data.normalize=per_channel"}).code ==
      0);
  constexpr int kCount = 20, kSize = 28 * 28;
  const std::string images = read_text(run.path("set/t10k-images-idx3-ubyte")).substr(16);
  const std::string labels = read_text(run.path("set/t10k-labels-idx1-ubyte")).substr(8);
  std::vector<std::string> words{"predict", "run", "--json"};
  for (int i = 0; i < kCount; ++i) {
    const std::string pixels = images.substr(static_cast<std::size_t>(i) * kSize, kSize);
    words.push_back(std::to_string(i) + ".png");
    write_bytes(run.path(words.back()), png_bytes(28, 28, 1, Bytes(pixels.begin(), pixels.end())));
  }
  const ProgramResult result = run.trainer(words);
  INFO(result.err);
  REQUIRE(result.code == 0);
  std::istringstream lines(result.out);
  double loss = 0;
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    const auto json = nlohmann::json::parse(line);
    CHECK(json["file"] == std::to_string(count) + ".png");
    loss -= std::log(json["probabilities"][static_cast<std::size_t>(labels[static_cast<std::size_t>(count)])]
                         .get<double>()) /
            kCount;
  }
  CHECK(count == kCount);
  const std::string scores = run.trainer({"eval", "run"}).out;
  CHECK(loss == Approx(std::stod(scores.substr(scores.find("loss ") + 5))).epsilon(1e-4));
}

TEST_CASE("predict names classes of folders, and files that are no images", "[runs]") {
  const SmallRun run;
  for (const int shade : {0, 255}) {
    const std::string name = shade == 0 ? "data/train/night" : "data/train/day";
    for (int i = 0; i < 4; ++i)
      write_bytes(run.path(name) / (std::to_string(i) + ".png"),
                  png_bytes(4, 4, 1, repeated(16, {static_cast<std::uint8_t>(shade)})));
  }
  const std::string set = "{dataset: {image_folder: {size: 4}}, path: data}";
  write_text(run.path("b.yaml"), replaced(kSmallRun, "{dataset: mnist, path: set}", set));
  REQUIRE(run.trainer({"b.yaml", "-o", "run", "-s", "train.epochs=30", "-s", "model.layers[1].dense.units=2"})
              .code == 0);
  write_bytes(run.path("dusk.png"), png_bytes(9, 9, 1, repeated(81, {250})));
  const ProgramResult result = run.trainer({"predict", "run", "dusk.png"});
  CHECK(result.code == 0);
  CHECK(result.out.find("dusk.png  day  ") == 0);
  fs::rename(run.path("dusk.png"), run.path("at \"dusk\", late.png"));
  const std::string rows = run.trainer({"predict", "run", "--csv", "at \"dusk\", late.png"}).out;
  const std::string start = "file,class,day,night\n\"at \"\"dusk\"\", late.png\",day,0.";
  CHECK(rows.substr(0, start.size()) == start);
  CHECK(run.trainer({"predict", "run", "--csv", "--json", "x.png"}).code == 2);
  CHECK(run.trainer({"eval", "run", "--split", "train"}).code == 0);  // although there are no test samples
  CHECK(run.trainer({"run", "-s", "train.epochs=31"}).code == 0);
  write_text(run.path("x.png"), "no image");
  CHECK(run.trainer({"predict", "run", "x.png"}).code == 3);
  CHECK(run.trainer({"predict", "run"}).code == 2);
}

TEST_CASE("generate continues a text as the run has learned it", "[runs]") {
  const SmallRun run;
  std::string text;
  for (int i = 0; i < 300; ++i) text += "aäbc";
  write_text(run.path("abc.txt"), text);
  write_text(run.path("t.yaml"), R"(data: {dataset: {text: {file: abc.txt, tokens: characters, sequence: 8}}}
model: {layers: [{embedding: 8}, {lstm: 8}, {dense: $vocab}], loss: softmax_cross_entropy}
train: {epochs: 20, batch: 8, optimizer: {adam: {lr: 0.02}}}
)");
  REQUIRE(run.trainer({"t.yaml", "-o", "run"}).code == 0);
  // Longer than a sequence, so that the window moves.
  const ProgramResult result =
      run.trainer({"generate", "run", "--prompt", "bcaä", "--tokens", "16", "--temperature", "0"});
  INFO(result.err);
  CHECK(result.out == "bcaäbcaäbcaäbcaäbcaä\n");
  const auto by_chance = [&](const std::string& seed) {
    return run.trainer({"generate", "run", "--prompt", "a", "--temperature", "9", "-s", "train.seed=" + seed})
        .out;
  };
  CHECK(by_chance("1") == by_chance("1"));
  CHECK(by_chance("1") != by_chance("2"));
  CHECK(run.trainer({"generate", "run", "--prompt", "x"}).code == 2);
  CHECK(run.trainer({"generate", "run"}).code == 2);
  const std::string likeliest = "\"$TRAINER\" generate run --temperature 0 --tokens 5 ";
  CHECK(run.shell(likeliest + "--prompt bc --prompt c").out == "bcaäbca\n\ncaäbca\n");
  CHECK(run.shell(likeliest + "--prompt bc --stop q --stop bc").out == "bcaä\n");
  for (const char* threads : {"1", "3"}) {
    const ProgramResult lines =
        run.shell("printf 'bc\\n\\nx\\na\\n' | " + likeliest + "--prompts - --json --threads " + threads);
    CHECK(lines.out == "{\"prompt\":\"bc\",\"text\":\"aäbca\"}\n{\"prompt\":\"a\",\"text\":\"äbcaä\"}\n");
    CHECK(lines.code == 3);
    CHECK(lines.err.find("standard input:3: the training text has no character `x`") != std::string::npos);
  }
  const ProgramResult stream =
      run.shell("mkfifo pipe; " + likeliest +
                "--prompts - < pipe > out & exec 3> pipe; echo bc >&3; "
                "while ! grep -q bcaäbca out; do sleep 0.05; done; echo c >&3; exec 3>&-; wait $!; cat out");
  CHECK(stream.out == "bcaäbca\n\ncaäbca\n");
  const auto hot = [&](const char* threads) {
    return run
        .trainer({"generate", "run", "--prompt", "a", "--prompt", "a", "--prompt", "a", "--temperature", "9",
                  "--top-k", "3", "--top-p", "0.9", "--threads", threads})
        .out;
  };
  CHECK(hot("1") == hot("2"));
  REQUIRE(run.trainer({"a.yaml", "-o", "images"}).code == 0);
  CHECK(run.trainer({"generate", "images", "--prompt", "x"}).code == 2);
}

TEST_CASE("communication is shown for several ranks only, and ASCII where the locale has no more", "[runs]") {
  const SmallRun run;
  const ProgramResult alone = run.shell("LC_ALL=C $TRAINER a.yaml --threads 2");
  INFO(alone.out);
  CHECK(alone.out.find("comm") == std::string::npos);
  CHECK(alone.out.find("dense1 8 > dense2 10\n") != std::string::npos);
  CHECK(std::ranges::all_of(alone.out, [](char byte) { return static_cast<unsigned char>(byte) < 0x80; }));
  const ProgramResult many = run.trainer({"a.yaml", "--datapar"}, 2);
  CHECK(many.out.find(" examples/s comm wait data ") != std::string::npos);
  CHECK(many.out.find("% waiting for other ranks") != std::string::npos);
  const std::string metrics = read_text(run.path("runs/a/metrics.jsonl"));
  CHECK(occurrences(metrics, "\"comm_share\":0,\"wait_share\":0,") == occurrences(metrics, "\n"));
}

TEST_CASE("summary opens nested layers, and marks kernels and what trains", "[runs]") {
  const SmallRun run;
  write_text(run.path("a.yaml"),
             replaced(kSmallRun, "    - dense: {units: 8, activation: relu}\n",
                      "    - conv: {filters: 4, kernel: [3, 5], stride: 2, frozen: true}\n"
                      "    - max_pool: 2\n"
                      "    - residual:\n"
                      "        shortcut: conv\n"
                      "        body: [{conv: {filters: 6, kernel: 3, pad: same}}, {dropout: 0.1}]\n"));
  const std::string shown = run.trainer({"summary", "a.yaml"}).out;
  INFO(shown);
  const auto has_row = [&](const std::string& cells) {
    std::string pattern;
    for (const char c : cells) pattern += c == ' ' ? " +" : c == '|' ? "\\s" : std::string(1, c);
    return std::regex_search(shown, std::regex("\n" + pattern + "\n"));
  };
  CHECK(has_row("input 1x28x28"));
  CHECK(has_row("conv1 conv 3x5, stride 2 4x13x12 64 no 18,720"));
  CHECK(has_row("max_pool1 max_pool 2x2 4x6x6"));
  CHECK(has_row("residual1 residual 6x6x6 246 yes 17,280"));
  CHECK(has_row("  conv2 conv 3x3 6x6x6 222 yes 15,552"));
  CHECK(has_row("  dropout1 dropout 6x6x6"));
  CHECK(has_row("  shortcut conv 1x1 6x6x6 24 yes 1,728"));
  CHECK(has_row("total 2,480 2,416 [0-9,]+"));
}

TEST_CASE("the memory of a summary is what the run takes", "[runs]") {
  if (is_built_with("address")) return;  // which keeps memory of its own
  const SmallRun run;
  // Samples, parameters and activations each take a part that counts.
  const std::vector<std::string> words{"-s", "model.layers[0].dense.units=2000", "-s", "train.batch=2000",
                                       "-s", "train.checkpoint=never",           "-s", "data.dataset=digits"};
  const auto with = [&](std::vector<std::string> first) {
    first.insert(first.end(), words.begin(), words.end());
    return run.trainer(first).out;
  };
  const auto megabytes = [](const std::string& text, const std::string& pattern) {
    std::smatch found;
    REQUIRE(std::regex_search(text, found, std::regex(pattern)));
    return std::stod(found[1]);
  };
  const double planned = megabytes(with({"summary", "a.yaml"}), "memory a rank: ([0-9.]+) MiB"),
               taken = megabytes(with({"a.yaml", "--progress", "plain"}), "([0-9.]+) MiB of memory");
  CHECK(planned == Approx(taken).epsilon(0.1));
}

TEST_CASE("ranks share a learned vocabulary, the run keeps it, and a resumed run learns it again", "[runs]") {
  const SmallRun run;
  std::string text;
  for (int i = 0; i < 300; ++i) text += i % 7 == 0 ? "the cat sat\n" : "a cat ran then ";
  write_text(run.path("cat.txt"), text);
  write_text(run.path("t.yaml"),
             R"(data: {dataset: {text: {file: cat.txt, tokens: {sentencepiece: 275}, sequence: 8}}}
model: {layers: [{embedding: 8}, {gru: 8}, {dense: $vocab}], loss: softmax_cross_entropy}
train: {exact: true, epochs: 2, batch: 8, optimizer: {adam: {lr: 0.02}}}
)");
  const ProgramResult together = run.trainer({"t.yaml", "-o", "together", "--datapar"}, 3);
  INFO(together.out << together.err);
  // Built without SentencePiece.
  if (together.code == 2 && together.err.find("libsentencepiece-dev") != std::string::npos) return;
  REQUIRE(together.code == 0);
  REQUIRE(run.trainer({"t.yaml", "-o", "alone"}).code == 0);
  const auto kept = [&](const char* name) { return read_file(run.path(name), ExitCode::failure, 1 << 20); };
  CHECK(kept("together/sentencepiece.model") == kept("alone/sentencepiece.model"));
  CHECK(kept("together/checkpoints/last/model.safetensors") ==
        kept("alone/checkpoints/last/model.safetensors"));
  CHECK(run.trainer({"alone", "-s", "train.epochs=3"}).code == 0);
  fs::remove(run.path("cat.txt"));
  CHECK(run.trainer({"generate", "together", "--prompt", "the c", "--tokens", "3"}).code == 0);
}

}  // namespace trainer
