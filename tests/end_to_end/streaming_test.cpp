// Sets that are read while training runs: the same on any placement, and a bad file ends all processes.
#include <catch2/catch.hpp>

#include "tests/end_to_end/image_folder.h"
#include "tests/end_to_end/small_run.h"
#include "tests/support/images.h"
#include "tests/support/skip.h"

namespace trainer {
namespace {

const std::string kConfig = R"(data:
  dataset: {image_folder: {size: 8}}
  path: images
  augment: [horizontal_flip]
model:
  layers:
    - conv: {filters: 4, kernel: 3, activation: relu}
    - dense: 2
  loss: softmax_cross_entropy
train:
  epochs: 2
  batch: 8
  optimizer: {sgd: {lr: 0.1}}
  metrics: [accuracy]
)";

void write_images(const SmallRun& run) {
  write_image_folder(run.path("images"));
  write_text(run.path("p.yaml"), kConfig);
}

std::string last_line(const std::string& text) { return text.substr(text.rfind('\n', text.size() - 2) + 1); }

}  // namespace

TEST_CASE("an image folder trains alike in one process, on threads and in three", "[streaming]") {
  const SmallRun run;
  write_images(run);
  std::vector<double> losses;
  const std::vector<std::vector<std::string>> ways = {
      {"--out", "a"}, {"--out", "b", "--threads", "3"}, {"--out", "c", "--datapar"}};
  for (const std::vector<std::string>& way : ways) {
    std::vector<std::string> words{"p.yaml"};
    words.insert(words.end(), way.begin(), way.end());
    const ProgramResult result = run.trainer(words, way.back() == "--datapar" ? 3 : 1);
    INFO(result.err);
    REQUIRE(result.code == 0);
    const std::string row = last_line(read_text(run.path(way[1]) / "results.csv"));
    const auto third = row.find(',', row.find(',') + 1) + 1;
    losses.push_back(std::stod(row.substr(third)));
  }
  CHECK(losses[1] == Approx(losses[0]).epsilon(1e-4));
  CHECK(losses[2] == Approx(losses[0]).epsilon(1e-4));
}

TEST_CASE("with streams, micro-batches of images read the samples of their targets", "[streaming]") {
  const SmallRun run;
  write_images(run);
  const auto row = [&](const std::string& micro_batches) {
    const std::string name = "of" + micro_batches;
    const ProgramResult result =
        run.trainer({"p.yaml", "-s", "data.streams=true", "-s", "data.shuffle=false", "-s", "data.augment=[]",
                     "-s", "train.accumulate=" + micro_batches, "-o", name});
    INFO(result.err);
    REQUIRE(result.code == 0);
    const std::string line = last_line(read_text(run.path(name) / "results.csv"));
    return std::stod(line.substr(line.find(',', line.find(',') + 1) + 1));
  };
  CHECK(row("2") == Approx(row("1")).epsilon(1e-4));
}

TEST_CASE("in exact mode an image folder gives the same bits on any placement", "[streaming]") {
  const SmallRun run;
  write_images(run);
  const std::string changes =
      "data={dataset: {image_folder: {size: 8}}, path: images, mixup: 0.4, normalize: per_channel, "
      "augment: [{random_crop: 2}, horizontal_flip, {affine: {degrees: 20}}, {elastic: {alpha: 8, sigma: "
      "2}}, "
      "{random_resized_crop: {area: 0.5}}, color_jitter, {cutout: 3}]}";
  const auto weights = [&](const std::string& out, int ranks, std::vector<std::string> words) {
    words.insert(words.begin(), {"p.yaml", "--out", out, "-s", changes, "-s", "train.exact=true", "-s",
                                 "train.epochs=3", "--datapar"});
    const ProgramResult result = run.trainer(words, ranks);
    INFO(result.err);
    REQUIRE(result.code == 0);
    return read_text(run.path(out) / "checkpoints/last/model.safetensors");
  };
  const std::string reference = weights("a", 1, {"--threads", "1"});
  CHECK(reference.size() > 1000);
  CHECK(weights("b", 1, {"--threads", "2"}) == reference);
  CHECK(weights("c", 1, {"--threads", "3"}) == reference);
  CHECK(weights("d", 2, {"--threads", "1"}) == reference);
  CHECK(weights("e", 2, {"--threads", "2"}) == reference);
  CHECK(weights("f", 3, {"--threads", "1"}) == reference);
}

TEST_CASE("a set that is streamed is never held whole", "[streamed-memory]") {
  if (is_built_with("address")) skip_test("AddressSanitizer itself takes more memory than streaming may");
  const SmallRun run;
  const Bytes bytes = png_bytes(2, 2, 1, {0, 85, 170, 255});
  for (const std::string folder : {"even", "odd"}) {
    std::filesystem::create_directories(run.path("images") / "train" / folder);
    for (int i = 0; i < 200; ++i)
      write_text(run.path("images") / "train" / folder / (std::to_string(i) + ".png"),
                 {bytes.begin(), bytes.end()});
  }
  // 400 images of 640 kB, decoded.
  write_text(run.path("p.yaml"),
             replaced(replaced(kConfig, "size: 8", "size: 400, gray: true"),
                      "- conv: {filters: 4, kernel: 3, activation: relu}", "- global_avg_pool"));
  const ProgramResult result =
      run.trainer({"p.yaml", "-s", "train.epochs=1", "-s", "data.augment=[]", "--threads", "1"});
  INFO(result.err);
  REQUIRE(result.code == 0);
  CHECK(result.peak_kib < 160'000);
}

TEST_CASE("a image that is cut off ends all processes with 3 and its name", "[streaming]") {
  const SmallRun run;
  write_images(run);
  const auto file = run.path("images") / "train" / "odd" / "7.jpg";
  const std::string whole = read_text(file);
  write_text(file, whole.substr(0, whole.size() / 2));
  const int ranks = GENERATE(1, 3);
  const ProgramResult result = run.trainer({"p.yaml", "--datapar"}, ranks);
  INFO(result.err);
  CHECK(result.code == 3);
  CHECK(result.err.find("images/train/odd/7.jpg") != std::string::npos);
  CHECK(occurrences(result.err, "7.jpg") == 1);
  const ProgramResult skipped =
      run.trainer({"p.yaml", "--datapar", "-s", "data.dataset.image_folder.damaged=skip"}, ranks);
  INFO(skipped.err);
  CHECK(skipped.code == 0);
  CHECK(skipped.out.find("1 damaged image is left out: ") != std::string::npos);
  CHECK(run.trainer({"check", "p.yaml"}).out.find("\nimage_folder: 26 train, 26 test") != std::string::npos);
}

}  // namespace trainer
