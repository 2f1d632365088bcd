// Datasets as tar shards: the same training, to the bit, and files that other programs read.
#include <catch2/catch.hpp>

#include "tests/end_to_end/image_folder.h"
#include "tests/end_to_end/small_run.h"

namespace trainer {
namespace {

const std::string kImages = R"(data:
  dataset: {image_folder: {size: 8, crop: 0.9}}
  path: images
  augment: [horizontal_flip]
  normalize: per_channel
model:
  layers:
    - conv: {filters: 4, kernel: 3, activation: relu}
    - dense: $classes
  loss: softmax_cross_entropy
train:
  exact: true
  epochs: 2
  batch: 8
  optimizer: {sgd: {lr: 0.1}}
)";

void write_images(const SmallRun& run) {
  write_image_folder(run.path("images"));
  write_text(run.path("p.yaml"), kImages);
}

ProgramResult packed(const SmallRun& run, std::vector<std::string> words) {
  words.insert(words.begin(), "pack");
  ProgramResult result = run.trainer(words);
  INFO(result.err);
  REQUIRE(result.code == 0);
  return result;
}

/// The `data:` section that `pack` printed, in the place of that of a config.
std::string use_of(const ProgramResult& result, const std::string& more) {
  const std::string word = "use: data: {";
  const std::size_t begin = result.out.find(word);
  REQUIRE(begin != std::string::npos);
  return "data={" + more +
         result.out.substr(begin + word.size(), result.out.size() - begin - word.size() - 1);
}

std::string weights(const SmallRun& run, std::vector<std::string> words, int ranks = 1) {
  static int number = 0;
  const std::string out = "run" + std::to_string(++number);
  words.insert(words.end(), {"--out", out, "--datapar"});
  const ProgramResult result = run.trainer(words, ranks);
  INFO(result.err);
  REQUIRE(result.code == 0);
  return read_text(run.path(out) / "checkpoints/last/model.safetensors");
}

}  // namespace

TEST_CASE("packed images train to the same bits as their folder, on one rank and on two", "[pack]") {
  const SmallRun run;
  write_images(run);
  const ProgramResult result = packed(run, {"p.yaml", "-o", "shards"});
  CHECK(result.out.find("train 26 samples in 1 shard, ") == 0);
  const std::string use = use_of(result, "augment: [horizontal_flip], normalize: per_channel, ");
  const std::string reference = weights(run, {"p.yaml"});
  CHECK(reference.size() > 1000);
  CHECK(weights(run, {"p.yaml", "-s", use}) == reference);
  CHECK(weights(run, {"p.yaml", "-s", use}, 2) == reference);
  std::filesystem::remove(run.path("shards") / "train-000000.tar.index");
  CHECK(weights(run, {"p.yaml", "-s", use}, 2) == reference);
  CHECK(read_text(run.path("shards") / "classes.txt") == "even\nodd\n");
}

TEST_CASE("packed sets in memory train to the same bits, whatever the size of shards", "[pack]") {
  const SmallRun run;
  const auto [data, keys] = GENERATE(table<std::string, std::string>({
      {"data={dataset: mnist, path: set, ", "normalize: per_channel, validation: 0.2, "},
      {"data={dataset: digits, ", "fraction: 0.01, "},
  }));
  const std::string own = data + keys.substr(0, keys.size() - 2) + "}";
  const std::string reference =
      weights(run, {"a.yaml", "-s", own, "-s", "train.exact=true", "-s", "train.steps=4"});
  const ProgramResult result = packed(run, {"a.yaml", "-o", "shards", "-s", own, "--shard-size", "1"});
  CHECK(weights(run, {"a.yaml", "-s", use_of(result, keys), "-s", "train.exact=true", "-s",
                      "train.steps=4"}) == reference);
}

TEST_CASE("tar and sha256sum read packed shards, and images keep every byte", "[pack]") {
  const SmallRun run;
  write_images(run);
  packed(run, {"p.yaml", "-o", "shards"});
  const ProgramResult result = run.shell(
      "cd shards && sha256sum -c SHA256SUMS && mkdir ../out && tar -C ../out -xf train-000000.tar && "
      "cmp ../out/000000000.png ../images/train/even/0.jpg && cat ../out/000000013.cls");
  INFO(result.err);
  CHECK(result.code == 0);
  CHECK(result.out.ends_with("\n1"));
  const ProgramResult again = run.trainer(
      {"pack", "p.yaml", "-o", "again/", "-s",
       "data={path: shards, dataset: {tar: {train: 'train-*.tar', test: 'test-*.tar', size: 8}}}"});
  INFO(again.err);
  CHECK(again.code == 0);
  CHECK(read_text(run.path("again") / "test-000000.tar") ==
        read_text(run.path("shards") / "test-000000.tar"));
}

TEST_CASE("pack overwrites nothing, and leaves nothing of a set that it cannot hold", "[pack]") {
  const SmallRun run;
  std::filesystem::create_directories(run.path("there"));
  const ProgramResult there = run.trainer({"pack", "a.yaml", "-o", "there"});
  CHECK(there.code == 2);
  CHECK(there.err.find("there exists already") != std::string::npos);
  write_text(run.path("t.csv"), "a,b\n1.5,x\n2.5,y\n");
  for (const std::string data : {"{dataset: {csv: {train: t.csv, target: b}}}", "{dataset: {sentences: 16}}",
                                 "{dataset: {digits: {labels: pixels}}}"}) {
    const ProgramResult refused = run.trainer({"pack", "a.yaml", "-o", "new", "-s", "data=" + data});
    INFO(refused.err);
    CHECK(refused.code == 2);
    CHECK(refused.err.find("tar shards cannot hold") != std::string::npos);
  }
  write_images(run);
  write_text(run.path("images/train/odd/7.jpg"), "no image");
  const ProgramResult damaged = run.trainer({"pack", "p.yaml", "-o", "new"});
  CHECK(damaged.code == 3);
  CHECK(damaged.err.find("neither PNG, JPEG nor WebP") != std::string::npos);
  CHECK(damaged.err.find("images/train/odd/7.jpg") != std::string::npos);
  CHECK_FALSE(std::filesystem::exists(run.path("new")));
  CHECK_FALSE(std::filesystem::exists(run.path("new.partial")));
}

TEST_CASE("a flipped bit of a packed image ends all ranks with 3 and its name", "[pack]") {
  const SmallRun run;
  write_images(run);
  const std::string use = use_of(packed(run, {"p.yaml", "-o", "shards"}), "");
  std::string shard = read_text(run.path("shards") / "train-000000.tar");
  shard[540] = static_cast<char>(shard[540] ^ 1);
  write_text(run.path("shards") / "train-000000.tar", shard);
  const ProgramResult result = run.trainer({"p.yaml", "-s", use, "--datapar"}, 2);
  INFO(result.err);
  CHECK(result.code == 3);
  CHECK(result.err.find("train-000000.tar: 000000000.png") != std::string::npos);
  CHECK(occurrences(result.err, "member is damaged") == 1);
}

}  // namespace trainer
