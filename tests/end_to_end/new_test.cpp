// `trainer new`: configs that are sound and train at once.
#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "tests/end_to_end/small_run.h"
#include "tests/support/images.h"

namespace trainer {
namespace {

namespace fs = std::filesystem;

const std::vector<std::string> kKinds{"mlp", "convnet", "resnet", "lstm", "gpt", "table", "folder"};

/// Two steps of a config in little time.
ProgramResult train_briefly(const SmallRun& run, const std::string& config) {
  return run.trainer({config, "-s", "train.steps=2", "-s", "train.batch=4", "-s", "train.evaluate=never",
                      "-s", "train.checkpoint=never", "-q"});
}

/// Images of several classes, `folder`/CLASS/N.png.
void write_classes(const fs::path& folder, int side, int channels) {
  for (const std::string name : {"rose", "tulip"}) {
    fs::create_directories(folder / name);
    for (int i = 0; i < 10; ++i) {
      Bytes pixels(static_cast<std::size_t>(side) * side * channels);
      for (std::size_t at = 0; at < pixels.size(); ++at)
        pixels[at] = static_cast<std::uint8_t>(at * 7 + i * 31 + (name == "rose" ? 0 : 90));
      const Bytes file = png_bytes(side, side, channels, pixels);
      write_text(folder / name / (std::to_string(i) + ".png"), std::string(file.begin(), file.end()));
    }
  }
}

std::string new_config(const SmallRun& run, const std::vector<std::string>& words) {
  std::vector<std::string> all{"new"};
  all.insert(all.end(), words.begin(), words.end());
  const ProgramResult result = run.trainer(all);
  INFO(result.err);
  CHECK(result.code == 0);
  return result.out;
}

}  // namespace

TEST_CASE("a new config of each kind is sound and trains without any file", "[new]") {
  const SmallRun run;
  std::vector<std::string> check{"check"};
  for (const std::string& kind : kKinds) {
    write_text(run.path(kind + ".yaml"), new_config(run, {kind}));
    check.push_back(kind + ".yaml");
  }
  const ProgramResult checked = run.trainer(check);
  CHECK(checked.code == 0);
  CHECK(occurrences(checked.out, ": ok") == 7);
  CHECK(checked.err.empty());
  for (const std::string& kind : kKinds) {
    const ProgramResult trained = train_briefly(run, kind + ".yaml");
    INFO(kind << ": " << trained.err);
    CHECK(trained.code == 0);
  }
}

TEST_CASE("a new config fits the table that it is shown", "[new]") {
  const SmallRun run;
  std::string classes = "id,height,\"width, cm\",kind\n", numbers = "size;price\n", named = "label,a,b\n";
  for (int row = 1; row <= 40; ++row) {
    classes += std::to_string(row) + "," + std::to_string(row % 7) + ".5," + std::to_string(row % 5) +
               (row % 2 == 0 ? ",good\n" : ",worn\n");
    numbers += std::to_string(row % 9) + ";" + std::to_string(1000 + row * 3 % 37) + ".25\n";
    named += std::to_string(row % 3) + ",0.5," + std::to_string(row * row % 11) + "\n";
  }
  write_text(run.path("classes.csv"), classes);
  write_text(run.path("numbers.csv"), numbers);
  write_text(run.path("named.csv"), named);
  const std::string by_place = new_config(run, {"table", "classes.csv"});
  CHECK(by_place.find("target: kind ") != std::string::npos);
  CHECK(by_place.find("targets: labels ") != std::string::npos);
  CHECK(by_place.find("ignore: [id] ") != std::string::npos);
  CHECK(by_place.find("2 classes: good, worn") != std::string::npos);
  const std::string regression = new_config(run, {"mlp", "numbers.csv"});
  CHECK(regression.find("target: price ") != std::string::npos);
  CHECK(regression.find("targets: numbers ") != std::string::npos);
  CHECK(regression.find("loss: mse") != std::string::npos);
  CHECK(new_config(run, {"table", "named.csv"}).find("target: label ") != std::string::npos);
  for (const std::string name : {"classes", "numbers", "named"}) {
    write_text(run.path("t.yaml"), new_config(run, {"table", name + ".csv"}));
    const ProgramResult trained = train_briefly(run, "t.yaml");
    INFO(name << ": " << trained.err);
    CHECK(trained.code == 0);
    CHECK(trained.err.find("warning") == std::string::npos);
  }
}

TEST_CASE("a new config fits the folder of images that it is shown", "[new]") {
  const SmallRun run;
  write_classes(run.path("photos/train"), 70, 3);
  write_classes(run.path("photos/test"), 70, 3);
  write_classes(run.path("my drawings"), 20, 1);
  const std::string photos = new_config(run, {"folder", "photos"});
  CHECK(photos.find("image_folder: {size: 64, test: test}") != std::string::npos);
  CHECK(photos.find("20 train, 20 test, 2 classes: rose, tulip") != std::string::npos);
  CHECK(photos.find("horizontal_flip") != std::string::npos);
  const std::string drawings = new_config(run, {"convnet", "my drawings"});
  CHECK(drawings.find("image_folder: {size: 20, train: \".\", gray: true}") != std::string::npos);
  CHECK(drawings.find("validation: 0.2") != std::string::npos);
  CHECK(drawings.find("horizontal_flip") == std::string::npos);
  for (const auto& [kind, folder] : std::vector<std::pair<std::string, std::string>>{
           {"folder", "photos"}, {"resnet", "photos"}, {"convnet", "my drawings"}, {"mlp", "my drawings"}}) {
    write_text(run.path("f.yaml"), new_config(run, {kind, folder}));
    const ProgramResult trained = train_briefly(run, "f.yaml");
    INFO(kind << ": " << trained.err);
    CHECK(trained.code == 0);
  }
}

TEST_CASE("a new config fits the text that it is shown", "[new]") {
  const SmallRun run;
  write_small_text(run.path("short.txt"), 300);
  write_text(run.path("bytes.bin"), std::string(5000, '\xff') + "\xfe\xfd");
  const std::string characters = new_config(run, {"lstm", "short.txt"});
  CHECK(characters.find("tokens: characters ") != std::string::npos);
  CHECK(characters.find("sequence: 16 ") != std::string::npos);
  CHECK(new_config(run, {"gpt", "bytes.bin"}).find("tokens: bytes ") != std::string::npos);
  write_text(run.path("x.yaml"), characters);
  CHECK(train_briefly(run, "x.yaml").code == 0);
}

TEST_CASE("a column that counts up is the input of a new config if there is no other", "[new]") {
  const SmallRun run;
  std::string table = "year,sales\n";
  for (int i = 0; i < 30; ++i) table += fmt::format("{},{}\n", 1990 + i, 0.5 + 3 * i);
  write_text(run.path("sales.csv"), table);
  const std::string yaml = new_config(run, {"table", "sales.csv"});
  CHECK(yaml.find("target: sales") != std::string::npos);
  CHECK(yaml.find("ignore") == std::string::npos);
  write_text(run.path("y.yaml"), yaml);
  CHECK(train_briefly(run, "y.yaml").code == 0);
}

TEST_CASE("a new config names a public dataset, and what is missing where it has no files", "[new]") {
  const SmallRun run;
  CHECK(new_config(run, {"mlp", "digits"}).find("dataset: digits\n") != std::string::npos);
  const ProgramResult absent = run.trainer({"new", "resnet", "cifar100"});
  CHECK(absent.code == 3);
  CHECK(absent.err.find("trainer fetch cifar100") != std::string::npos);
}

TEST_CASE("data that a kind does not learn are refused with what it expects", "[new]") {
  const SmallRun run;
  const auto refused = [&](const std::vector<std::string>& words, int code, const std::string& what) {
    std::vector<std::string> all{"new"};
    all.insert(all.end(), words.begin(), words.end());
    const ProgramResult result = run.trainer(all);
    INFO(result.err);
    CHECK(result.code == code);
    CHECK(result.out.empty());
    CHECK(result.err.find(what) != std::string::npos);
  };
  write_text(run.path("one.csv"), "a\n1\n2\n");
  fs::create_directory(run.path("empty"));
  refused({"gtp"}, 2, "gpt");
  refused({"table", "set"}, 2, "expects a table, not a folder");
  refused({"convnet", "a.yaml"}, 2, "expects a folder of class folders");
  refused({"gpt", "digits"}, 2, "expects a file");
  refused({"folder", "empty"}, 3, "no class folder with images found");
  refused({"table", "one.csv"}, 3, "no column can be a target");
  refused({"table", "nowhere.csv"}, 3, "no such file or folder");
}

}  // namespace trainer
