// Every file in configs/ trains a step, alone and on four processes, on a few samples of the right form.
#include <algorithm>
#include <catch2/catch.hpp>

#include "tests/end_to_end/small_run.h"
#include "tests/support/skip.h"

namespace trainer {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> configs() {
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(setting_of_tests("TRAINER_CONFIGS")))
    if (entry.path().extension() == ".yaml") files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  return files;
}

/// A config, and after it the one that it inherits.
std::string text_of(const std::string& config) {
  const std::string text = read_text(config), key = "\nbase: ";
  const std::size_t found = text.find(key);
  if (found == std::string::npos) return text;
  const std::size_t begin = found + key.size();
  const fs::path base = fs::path(config).parent_path() / text.substr(begin, text.find('\n', begin) - begin);
  return text + read_text(base.string());
}

/// What makes a step of a config short: few samples take the place of large sets.
std::vector<std::string> small_run_of(const std::string& config) {
  const std::string yaml = text_of(config);
  const auto has = [&](const std::string& text) { return yaml.find(text) != std::string::npos; };
  std::vector<std::string> words{config, "-s", "data.path=set", "-s", "train.steps=1"};
  const auto set = [&](const std::string& value) { words.insert(words.end(), {"-s", value}); };
  // A batch of one sample cannot be split over ranks.
  if (config.ends_with("neon-housing.yaml")) set("train.batch=4");
  if (has("fraction: 0.1")) set("data.fraction=1");
  if (has("cifar10") && has("conv:")) set("train.batch=16");
  if (has("digits: {labels")) set("train.evaluate=never");
  if (has("image_folder")) {  // ImageNet's models
    set("train.batch=4");
    set("train.checkpoint=never");
    set("train.evaluate=never");
    const std::string size = has("size: 227") ? "227, 227" : "224, 224";
    set("data.dataset={synthetic: {shape: [3, " + size + "], classes: 1000, train: 8, test: 4}}");
  }
  return words;
}

}  // namespace

TEST_CASE("every config trains a step, alone and on four processes", "[configs]") {
  const SmallRun run;
  write_small_mnist(run.path("set"), 1500, 20);
  write_small_cifar10(run.path("set"), 200, 20);
  write_small_text(run.path("set/tinyshakespeare.txt"), 12000);
  write_text(run.path("set") / "iris.csv", small_table(60, 4, 3));
  write_text(run.path("set") / "breast_cancer.csv", small_table(100, 30, 2));
  write_text(run.path("set") / "boston_house_prices.csv", "a title\n" + small_table(60, 13, 9));
  std::string diamonds = "carat,cut,color,clarity,depth,table,price,x,y,z\n";
  for (int row = 0; row < 60; ++row)
    diamonds += (row % 7 == 0 ? "" : "0.5") + std::string(row % 2 == 0 ? ",Fair" : ",Good") +
                ",E,SI1,60,55," + std::to_string(300 + row) + ",4,4,2\n";
  write_text(run.path("set") / "diamonds.csv", diamonds);
  REQUIRE(configs().size() >= 5);
  for (const std::string& config : configs()) {
    INFO(config);
    std::vector<std::string> words = small_run_of(config);
    const ProgramResult alone = run.trainer(words);
    INFO(alone.err);
    CHECK(alone.code == 0);
    // Of the layers or the rate; the batch is larger than these sets.
    CHECK(alone.err.find("warning: `") == std::string::npos);
    CHECK(alone.err.find("warning: a learning rate") == std::string::npos);
    words.push_back("--datapar");
    const ProgramResult many = run.trainer(words, 4);
    INFO(many.err);
    CHECK(many.code == 0);
  }
}

TEST_CASE("every config passes the check, and without data names what is missing or trains on digits",
          "[configs]") {
  const SmallRun run;
  for (const std::string& config : configs()) {
    INFO(config);
    const ProgramResult result = run.trainer({"check", config, "-s", "data.path=nowhere"});
    const std::string yaml = read_text(config);
    if (yaml.find("dataset: {synthetic:") != std::string::npos ||
        yaml.find("dataset: {digits:") != std::string::npos) {
      CHECK(result.code == 0);
      continue;
    }
    const bool falls_back = yaml.find("fallback: digits") != std::string::npos;
    CHECK(result.code == (falls_back ? 0 : 3));
    CHECK((falls_back ? result.out : result.err).find(falls_back ? "drawn digits" : "looked for") !=
          std::string::npos);
  }
}

TEST_CASE("resnet50 has as many parameters as torchvision's", "[configs]") {
  const SmallRun run;
  std::vector<std::string> words = small_run_of(setting_of_tests("TRAINER_CONFIGS") + "/resnet50.yaml");
  words.insert(words.begin(), "summary");
  const ProgramResult result = run.trainer(words);
  INFO(result.err);
  REQUIRE(result.code == 0);
  CHECK(result.out.find("25,557,032") != std::string::npos);
}

TEST_CASE("resnet50-lars is resnet50 with a learning rate of 32", "[configs]") {
  const SmallRun run;
  std::vector<std::string> words = small_run_of(setting_of_tests("TRAINER_CONFIGS") + "/resnet50-lars.yaml");
  // The batch of the file, four samples at a time.
  for (const char* const value : {"train.batch=32768", "train.accumulate=8192", "train.steps=0"})
    words.insert(words.end(), {"-s", value});
  const ProgramResult result = run.trainer(words);
  INFO(result.err);
  CHECK(result.out.find("lr scaled to 32 for this batch") != std::string::npos);
  CHECK(result.out.find("25,557,032") != std::string::npos);
}

TEST_CASE("iris classifies 27 of 30 flowers correctly", "[iris]") {
  const std::string table = "/usr/lib/python3/dist-packages/sklearn/datasets/data/iris.csv";
  if (!fs::exists(table)) skip_test("no " + table + " (Debian's python3-sklearn)");
  const SmallRun run;
  const ProgramResult result =
      run.trainer({setting_of_tests("TRAINER_CONFIGS") + "/iris.yaml", "--out", "run"});
  INFO(result.err);
  REQUIRE(result.code == 0);
  const std::string rows = read_text(run.path("run") / "results.csv");
  const auto cells = [](const std::string& line) {
    std::vector<std::string> list(1);
    for (const char c : line) {
      if (c == ',')
        list.emplace_back();
      else
        list.back() += c;
    }
    return list;
  };
  const auto names = cells(rows.substr(0, rows.find('\n')));
  const auto last = cells(rows.substr(rows.rfind('\n', rows.size() - 2) + 1));
  const auto column = std::find(names.begin(), names.end(), "valid/accuracy") - names.begin();
  REQUIRE(column < std::ssize(last));
  CHECK(std::stod(last[static_cast<std::size_t>(column)]) * 30 > 26.9);
}

TEST_CASE("drawn digits are never used silently", "[configs]") {
  const SmallRun run;
  write_text(run.path("a.yaml"), replaced(kSmallRun, "path: set", "path: nowhere, fallback: digits"));
  const ProgramResult result = run.trainer({"a.yaml", "-s", "train.steps=1", "-s", "train.evaluate=never"});
  CHECK(result.code == 0);
  CHECK(result.out.find("mnist not found: drawn digits instead (data.fallback)") != std::string::npos);
  CHECK(result.out.find("digits: 60,000 train, 10,000 test") != std::string::npos);
}

TEST_CASE("several files and environment variables make a run that repeats without them", "[short-configs]") {
  const SmallRun run;
  write_text(run.path("b.yaml"), "train:\n  epochs: 2\n  seed: ${SEED}\n");
  const ProgramResult both = run.shell("SEED=3 $TRAINER a.yaml b.yaml -o both");
  INFO(both.err);
  REQUIRE(both.code == 0);
  CHECK_THAT(both.out, Catch::Contains("2 epochs x 5 steps") && Catch::Contains(", seed 3\n"));
  REQUIRE(run.trainer({"both/config.yaml", "-o", "again"}).code == 0);
  const std::string weights = "checkpoints/last/model.safetensors";
  CHECK(read_text(run.path("both/" + weights)) == read_text(run.path("again/" + weights)));
  CHECK_THAT(run.trainer({"both", "b.yaml"}).err,
             Catch::Contains("both resumes with the configuration that it has, without `b.yaml`"));
  CHECK_THAT(run.trainer({"a.yaml", "b.yaml"}).err,
             Catch::Contains("the environment variable `SEED` is not set\n  --> b.yaml:3:9"));
  CHECK(run.shell("SEED=3 $TRAINER check a.yaml b.yaml").code == 2);
  CHECK(run.shell("SEED=3 $TRAINER check --merge a.yaml b.yaml").out.find("a.yaml b.yaml: ok\n") == 0);
  const ProgramResult sweep = run.shell("SEED=3 $TRAINER sweep a.yaml b.yaml -s train.batch=[8,10] -o sweep");
  CHECK(sweep.out.find("sweep         a.yaml b.yaml: 2 trials") != std::string::npos);
  CHECK(run.trainer({"sweep", "sweep"}).code == 0);
}

}  // namespace trainer
