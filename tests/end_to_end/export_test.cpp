// trainer export: its files, where they lie, and its errors.
#include <catch2/catch.hpp>

#include "models/exporting/onnx/onnx_writer.h"
#include "tests/end_to_end/small_run.h"

namespace trainer {
namespace {

namespace fs = std::filesystem;

/// The files whose names show that a write was not completed.
int unfinished_files(const fs::path& folder) {
  int count = 0;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().string().find("partial") != std::string::npos) ++count;
  return count;
}

}  // namespace

TEST_CASE("export writes a file of each format, and the same bytes each time", "[export]") {
  const SmallRun run;
  REQUIRE(run.trainer({"a.yaml", "-q", "--out", "r"}).code == 0);
  for (const std::string format : {"onnx", "c", "npz"}) {
    INFO(format);
    if (format == "onnx" && onnx_version() == "not built in") continue;
    const ProgramResult first = run.trainer({"export", "r", format});
    INFO(first.err);
    REQUIRE(first.code == 0);
    CHECK(first.out.find("r/model." + format) != std::string::npos);
    CHECK((first.out.find("1x28x28") != std::string::npos) == (format != "npz"));
    REQUIRE(run.trainer({"export", "r/checkpoints/best", format, "-o", "again"}).code == 0);
    CHECK(read_text(run.path("again")) == read_text(run.path("r/model." + format)));
  }
  CHECK(unfinished_files(run.path("r")) == 0);
}

TEST_CASE("the export of a classifier counts its probabilities, whatever axes its last layer has",
          "[export]") {
  const SmallRun run;
  const std::string layers =
      GENERATE("[dense: 10]", "[{dense: 10}, {reshape: [10, 1]}]", "[{conv: {filters: 10, kernel: 28}}]");
  REQUIRE(run.trainer({"a.yaml", "-q", "--out", "r", "-s", "model.layers=" + layers}).code == 0);
  const ProgramResult exported = run.trainer({"export", "r", "c"});
  INFO(exported.out << exported.err);
  REQUIRE(exported.code == 0);
  CHECK_THAT(exported.out, Catch::Contains(" 10 probabilities\n"));
  CHECK_THAT(read_text(run.path("r/model.c")), Catch::Contains("output: 10 probabilities\n"));
}

TEST_CASE("a checkpoint is exported without its run and without the data", "[export]") {
  const SmallRun run;
  REQUIRE(run.trainer({"a.yaml", "-q", "--out", "r", "-s", "data.normalize=per_channel"}).code == 0);
  REQUIRE(run.trainer({"export", "r", "npz"}).code == 0);
  REQUIRE(run.trainer({"export", "r", "c"}).code == 0);
  const std::string before = read_text(run.path("r/model.c"));
  fs::remove_all(run.path("set"));
  REQUIRE(run.trainer({"export", "r", "c"}).code == 0);
  CHECK(read_text(run.path("r/model.c")) == before);
  fs::create_directory(run.path("elsewhere"));
  fs::copy(fs::canonical(run.path("r/checkpoints/best")), run.path("elsewhere/lone"),
           fs::copy_options::recursive);
  const ProgramResult lone = run.trainer({"export", "elsewhere/lone", "npz"});
  INFO(lone.err);
  REQUIRE(lone.code == 0);
  CHECK(read_text(run.path("elsewhere/lone/model.npz")) == read_text(run.path("r/model.npz")));
}

TEST_CASE("a checkpoint is found from inside it, whether its run is around it or not", "[export]") {
  const SmallRun run;
  REQUIRE(run.trainer({"a.yaml", "-q", "--out", "r"}).code == 0);
  REQUIRE(run.trainer({"export", "r", "npz", "-o", "expected"}).code == 0);
  fs::copy(run.path("r/checkpoints/best"), run.path("lone"), fs::copy_options::recursive);
  fs::create_directories(run.path("lone/below/further"));
  for (const auto& [folder, place, file] : {std::tuple{"lone", ".", "lone/model.npz"},
                                            {"lone", "./", "lone/model.npz"},
                                            {"lone/below", "..", "lone/model.npz"},
                                            {"lone/below/further", "../..", "lone/model.npz"},
                                            {"r/checkpoints/best", ".", "r/model.npz"},
                                            {"r/checkpoints", "best/.", "r/model.npz"}}) {
    INFO(folder << ": " << place);
    const ProgramResult exported =
        run.shell(std::string("cd ") + folder + " && \"$TRAINER\" export " + place + " npz");
    INFO(exported.err);
    CHECK(exported.code == 0);
    REQUIRE(fs::exists(run.path(file)));
    CHECK(read_text(run.path(file)) == read_text(run.path("expected")));
    fs::remove(run.path(file));
  }
}

TEST_CASE("export reports what is wrong and leaves no file", "[export]") {
  const SmallRun run;
  REQUIRE(run.trainer({"a.yaml", "-q", "--out", "r"}).code == 0);

  const ProgramResult unknown = run.trainer({"export", "r", "onxx"});
  CHECK(unknown.code == 2);
  CHECK(unknown.err.find("onxx") != std::string::npos);
  CHECK(unknown.err.find("npz") != std::string::npos);
  CHECK(run.trainer({"export", "r"}).code == 2);
  CHECK(run.trainer({"export", "set", "c"}).code == 2);
  CHECK(run.trainer({"export", "", "c"}).err.find("error: RUN is an empty word\n") == 0);

  const ProgramResult nowhere = run.trainer({"export", "r", "c", "-o", "missing/model.c"});
  CHECK(nowhere.code == 1);
  CHECK(nowhere.err.find("missing/model.c") != std::string::npos);
  write_text(run.path("kept"), "what was there");
  const ProgramResult full = run.shell("ulimit -f 20; $TRAINER export r c -o kept");
  CHECK(full.code == 1);
  CHECK(read_text(run.path("kept")) == "what was there");
  CHECK(unfinished_files(run.path(".")) == 0);

  fs::resize_file(run.path("r/checkpoints/best/model.safetensors"), 1000);
  CHECK(run.trainer({"export", "r", "npz"}).code == 6);
  fs::remove_all(run.path("r/checkpoints"));
  const ProgramResult untrained = run.trainer({"export", "r", "c"});
  CHECK(untrained.code == 6);
  CHECK(untrained.err.find("r has no checkpoint") != std::string::npos);
  CHECK_FALSE(fs::exists(run.path("r/model.c")));
  CHECK_FALSE(fs::exists(run.path("r/model.npz")));
}

TEST_CASE("export names a layer whose outputs padding changes", "[export]") {
  const SmallRun run;
  write_text(run.path("lines.txt"), "one\nseven\nfour\nthree\nnine\nfive\ntwo\neight\n");
  const std::string config =
      "data: {dataset: {text: {file: lines.txt, lines: true, sequence: 6}}}\n"
      "model:\n  layers: [embedding: 4, lstm: {units: 5, bidirectional: true}, dense: $vocab]\n"
      "  loss: softmax_cross_entropy\n"
      "train: {epochs: 1, batch: 2, optimizer: {sgd: {lr: 0.1}}}\n";
  write_text(run.path("b.yaml"), config);
  const ProgramResult trained = run.trainer({"b.yaml", "-q", "--out", "b"});
  INFO(trained.err);
  REQUIRE(trained.code == 0);
  const ProgramResult exported = run.trainer({"export", "b", "c"});
  CHECK(exported.code == 2);
  CHECK(exported.err.find("lstm1 cannot be exported") != std::string::npos);
  CHECK(run.trainer({"export", "b", "npz"}).code == 0);
}

TEST_CASE("a ResNet is exported with the names of its classes and what makes inputs of images", "[export]") {
  const SmallRun run;
  const std::string conv = "{conv: {filters: 4, kernel: 3, pad: 1, bias: false}}, batch_norm";
  const std::string layers =
      "[{conv: {filters: 4, kernel: 7, stride: 2, pad: 3, bias: false}}, batch_norm, relu, "
      "{max_pool: {size: 3, stride: 2, pad: 1}}, {residual: [" +
      conv + ", relu, " + conv + "]}, relu, global_avg_pool, {dense: 10}]";
  REQUIRE(run.trainer({"a.yaml", "-q", "--out", "r", "-s", "model.layers=" + layers, "-s",
                       "data.normalize=per_channel"})
              .code == 0);
  fs::remove_all(run.path("set"));
  const ProgramResult exported = run.trainer({"export", "r", "hf"});
  INFO(exported.err);
  REQUIRE(exported.code == 0);
  CHECK(exported.err.empty());
  const std::string config = read_text(run.path("r/huggingface/config.json")),
                    images = read_text(run.path("r/huggingface/preprocessor_config.json"));
  for (const char* const part : {"ResNetForImageClassification", "\"num_channels\": 1",
                                 "\"layer_type\": \"basic\"", "\"9\": \"", "single_label_classification"})
    CHECK_THAT(config, Catch::Contains(part));
  for (const char* const part : {"\"shortest_edge\": 28", "\"image_mean\"", "\"do_convert_rgb\": false"})
    CHECK_THAT(images, Catch::Contains(part));
  CHECK_THAT(read_text(run.path("r/huggingface/model.safetensors")),
             Catch::Contains("resnet.embedder.embedder.normalization.num_batches_tracked"));
}

TEST_CASE("a network of images that is no ResNet is not exported to Hugging Face", "[export]") {
  const SmallRun run;
  REQUIRE(run.trainer({"a.yaml", "-q", "--out", "r"}).code == 0);
  const ProgramResult exported = run.trainer({"export", "r", "hf"});
  CHECK(exported.code == 2);
  CHECK_THAT(exported.err,
             Catch::Contains("is in no ResNet of Hugging Face: `conv` is expected in its place"));
  CHECK_FALSE(fs::exists(run.path("r/huggingface")));
}

}  // namespace trainer
