#include <filesystem>

#include "tests/datasets/readers/npy_files.h"
#include "tests/datasets/tar/tar_files.h"
#include "tests/support/images.h"

namespace trainer {
namespace {

Bytes gray(std::uint8_t shade) { return png_bytes(4, 4, 1, repeated(16, {shade})); }

std::string settings(const TemporaryDirectory& directory, const std::string& keys) {
  return "dataset: {tar: {" + keys + "}}\npath: " + directory.path();
}

/// The message for a shard of these members.
std::string problem_of(const std::vector<Bytes>& members, const std::string& keys = ", size: 4") {
  const TemporaryDirectory directory;
  directory.write("a.tar", tar_file(members));
  const std::string problem = data_error([&] { opened(settings(directory, "train: a.tar" + keys)); });
  CHECK_THAT(problem, Catch::Contains("a.tar"));
  return problem;
}

Bytes array(const std::string& type, const std::string& shape, const Bytes& content) {
  return npy(header(type, shape), content);
}

}  // namespace

TEST_CASE("tar shards hold images and classes, in the order of the files and their members", "[tar]") {
  const TemporaryDirectory directory;
  directory.write("s/train-1.tar",
                  tar_file({tar_member("d/c.PNG", gray(255)), tar_member("d/c.cls", bytes_of("0"))}));
  directory.write("s/train-0.tar",
                  tar_file({tar_member("readme", bytes_of("no sample")),
                            tar_member("a.cls", bytes_of(" 2\n")), tar_member("a.png", gray(51)),
                            tar_member("a.json", bytes_of("{}")), tar_member("b.x.jpg", bytes_of("another")),
                            tar_member("b.jpg", gray(102)), tar_member("b.cls", bytes_of("1"))}));
  directory.write("s/test.tar",
                  tar_file({tar_member("a.png", gray(153)), tar_member("a.cls", bytes_of("1"))}));
  const std::string train = GENERATE("'s/train-*.tar'", "[s/train-0.tar, s/train-1.tar]");
  const Data data =
      opened(settings(directory, "train: " + train + ", test: s/test.tar, size: 4, gray: true"));
  CHECK(data.train->info().is_streamed);
  CHECK(data.train->sample() == Shape{4, 4, 1});
  CHECK(data.train->classes() == 3);
  REQUIRE(data.train->size() == 3);
  CHECK(data.train->label(0) == 2);
  CHECK(data.train->label(1) == 1);
  CHECK(data.train->label(2) == 0);
  CHECK(read_one(*data.train, 0)[3] == Approx(0.2));
  CHECK(read_one(*data.train, 1)[3] == Approx(0.4));
  CHECK(read_one(*data.train, 2)[3] == Approx(1));
  CHECK(data.test->classes() == 3);
  CHECK(read_one(*data.test, 0)[3] == Approx(0.6));
  CHECK(data.train->image_file(1) == gray(102));
}

TEST_CASE("tar shards hold arrays with classes or values, in memory or streamed", "[tar]") {
  const TemporaryDirectory directory;
  directory.write(
      "labels.tar",
      tar_file({tar_member("0.npy", array("|u1", "2, 1", {0, 255})), tar_member("0.cls", bytes_of("4")),
                tar_member("1.npy", array("<f4", "2, 1", stored<float>({0.5f, -3}))),
                tar_member("1.cls", bytes_of("0"))}));
  directory.write("values.tar",
                  tar_file({tar_member("0.npy", array("<f8", "", stored<double>({7}))),
                            tar_member("0.target.npy", array("|u1", "2", {3, 255})),
                            tar_member("1.npy", array("<f8", "", stored<double>({8}))),
                            tar_member("1.target.npy", array("<f4", "2", stored<float>({1, 2})))}));
  const std::string streamed = GENERATE("false", "true");
  const Data labels = opened(settings(directory, "train: labels.tar, streamed: " + streamed));
  CHECK(labels.train->info().is_streamed == (streamed == "true"));
  CHECK((labels.train->stored_bytes() == 0) == (streamed == "true"));
  CHECK(labels.train->sample() == Shape{2, 1});
  CHECK(labels.train->classes() == 5);
  CHECK(labels.train->label(0) == 4);
  CHECK(read_one(*labels.train, 0) == std::vector<float>{0, 1});
  CHECK(read_one(*labels.train, 1) == std::vector<float>{0.5f, -3});
  const Data values = opened(settings(directory, "train: values.tar, streamed: " + streamed));
  CHECK(values.train->sample() == Shape{1});
  CHECK(values.train->classes() == 0);
  CHECK(values.train->target() == Shape{2});
  CHECK(read_one(*values.train, 1) == std::vector<float>{8});
  CHECK(targets_of(*values.train, 0) == std::vector<float>{3, 255});
  CHECK(targets_of(*values.train, 1) == std::vector<float>{1, 2});
}

TEST_CASE("a file names the classes of tar shards", "[tar]") {
  const TemporaryDirectory directory;
  directory.write("a.tar", tar_file({tar_member("a.png", gray(1)), tar_member("a.cls", bytes_of("1"))}));
  directory.write("names.txt", bytes_of("cat\r\na dog\nbird"));
  directory.write("one.txt", bytes_of("cat\n"));
  directory.write("hole.txt", bytes_of("cat\n\nbird\n"));
  const auto open = [&](const std::string& names) {
    return opened(settings(directory, "train: a.tar, size: 4, classes: " + names));
  };
  CHECK(open("names.txt").train->info().class_names == std::vector<std::string>{"cat", "a dog", "bird"});
  CHECK(open("names.txt").train->classes() == 3);
  CHECK_THAT(data_error([&] { open("one.txt"); }),
             Catch::Contains("a.tar: a.png") && Catch::Contains("its label is 1; the classes are 0 to 0"));
  CHECK_THAT(data_error([&] { open("hole.txt"); }), Catch::Contains("line 2 is empty"));
}

TEST_CASE("a shard with damaged samples is an error with file and member", "[tar]") {
  using Catch::Contains;
  const Bytes image = tar_member("a.png", gray(1)), label = tar_member("a.cls", bytes_of("1"));
  CHECK_THAT(problem_of({}), Contains("tar file has no sample"));
  CHECK_THAT(problem_of({image}), Contains("a.tar: a") && Contains("no target") && Contains(".png"));
  CHECK_THAT(problem_of({label}), Contains("no image and no array") && Contains("its members are .cls"));
  CHECK_THAT(problem_of({tar_member("a.mp4", {}), label}), Contains("its members are .mp4, .cls"));
  CHECK_THAT(problem_of({image, label, label}), Contains("a.tar: a.cls") && Contains("two targets"));
  CHECK_THAT(problem_of({image, label, tar_member("a.jpg", gray(1))}),
             Contains("a.tar: a.jpg") && Contains("two inputs"));
  CHECK_THAT(problem_of({image, tar_member("b.png", gray(1)), label}), Contains("follow each other"));
  for (const std::string text : {"", "-1", "1.5", "dog", "1048576", "99999999999999999999999999999999999"})
    CHECK_THAT(problem_of({image, tar_member("a.cls", bytes_of(text))}),
               Contains("a.tar: a.cls") && Contains("label is no class"));
  CHECK_THAT(problem_of({tar_member("a.png", {}), label}), Contains("a.png") && Contains("member is empty"));
  const Bytes one = array("|u1", "1", {1});
  CHECK_THAT(problem_of({image, label, tar_member("b.npy", one), tar_member("b.cls", bytes_of("1"))}),
             Contains("a.tar: b.npy") && Contains("two kinds"));
  CHECK_THAT(problem_of({image, label, tar_member("b.png", gray(1)), tar_member("b.target.npy", one)}),
             Contains("a.tar: b.png") && Contains("two kinds of targets"));
  const Bytes four = array("|u1", "4", {1, 2, 3, 4});
  for (const std::string keys : {"", ", streamed: true"}) {
    CHECK_THAT(problem_of({tar_member("a.npy", bytes_of("no array at all")), label}, keys),
               Contains("a.tar: a.npy") && Contains("not an npy file"));
    CHECK_THAT(problem_of({tar_member("a.npy", array("|u1", "1, 1, 1, 1, 1, 1", {1})), label}, keys),
               Contains("too many axes"));
    CHECK_THAT(problem_of({tar_member("a.npy", array("|u1", "4096", Bytes(4096))), label,
                           tar_member("b.npy", one), tar_member("b.cls", bytes_of("1"))},
                          keys),
               Contains("a.tar: b.npy") && Contains("arrays differ in shape"));
  }
  const TemporaryDirectory directory;
  directory.write("a.tar", tar_file({tar_member("a.npy", four), label,
                                     tar_member("b.npy", array("|u1", "2, 2", {1, 2, 3, 4})),
                                     tar_member("b.cls", bytes_of("1"))}));
  const Data data = opened(settings(directory, "train: a.tar, streamed: true"));
  CHECK_THAT(data_error([&] { read_one(*data.train, 1); }),
             Contains("a.tar: b.npy") && Contains("2x2 here, 4 in the first sample"));
  directory.write("b.tar", tar_file({tar_member("a.jpg", bytes_of("no image")), label}));
  const Data damaged = opened(settings(directory, "train: b.tar, size: 4"));
  CHECK_THAT(data_error([&] { read_one(*damaged.train, 0); }),
             Contains("b.tar: a.jpg") && Contains("neither PNG"));
  std::filesystem::resize_file(directory.path("b.tar"), 600);
  CHECK_THAT(data_error([&] { opened(settings(directory, "train: b.tar, size: 4")); }),
             Contains("truncated"));
}

TEST_CASE("images require a size, arrays have their own, and both splits are alike", "[tar]") {
  using Catch::Contains;
  const TemporaryDirectory directory;
  const Bytes label = tar_member("a.cls", bytes_of("1"));
  directory.write("image.tar", tar_file({tar_member("a.png", gray(1)), label}));
  directory.write("array.tar", tar_file({tar_member("a.npy", array("|u1", "2", {1, 2})), label}));
  directory.write("longer.tar", tar_file({tar_member("a.npy", array("|u1", "3", {1, 2, 3})), label}));
  directory.write("more.tar", tar_file({tar_member("a.npy", array("|u1", "2", {1, 2})),
                                        tar_member("a.cls", bytes_of("2"))}));
  CHECK_THROWS_WITH(opened(settings(directory, "train: image.tar")), Contains("images require a size"));
  CHECK_THROWS_WITH(opened(settings(directory, "train: array.tar, size: 2")),
                    Contains("have their own size"));
  CHECK_THAT(data_error([&] { opened(settings(directory, "train: array.tar, test: longer.tar")); }),
             Contains("longer.tar") && Contains("differ in shape") && Contains("3 here, 2 in training"));
  CHECK_THAT(data_error([&] { opened(settings(directory, "train: array.tar, test: more.tar")); }),
             Contains("more.tar: a.npy") && Contains("its label is 2; the classes are 0 to 1"));
  CHECK_THAT(data_error([&] { opened(settings(directory, "train: absent-*.tar, size: 4")); }),
             Contains("looked for") && Contains("absent-*.tar"));
}

}  // namespace trainer
