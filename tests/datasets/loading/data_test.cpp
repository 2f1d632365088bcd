#include "datasets/loading/data.h"

#include <cmath>
#include <filesystem>
#include <numeric>
#include <set>

#include "tests/datasets/files.h"
#include "tests/support/environment_variable.h"
#include "tests/support/skip.h"

namespace trainer {
namespace {

constexpr int kEdge = 3;
constexpr std::size_t kArea = kEdge * kEdge;

std::uint32_t as_extent(std::size_t number) { return static_cast<std::uint32_t>(number); }

Bytes image_file(std::size_t count, std::uint8_t first = 0) {
  Bytes pixels(count * kArea);
  for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<std::uint8_t>(first + i / kArea);
  return idx_bytes({as_extent(count), kEdge, kEdge}, pixels);
}

Bytes label_file(std::size_t count, int classes = 10) {
  Bytes labels(count);
  for (std::size_t i = 0; i < count; ++i)
    labels[i] = static_cast<std::uint8_t>(i % static_cast<std::size_t>(classes));
  return idx_bytes({as_extent(count)}, labels);
}

/// A small set under MNIST's names: 100 training samples, 20 of test; every pixel of sample i is i.
void write_mnist(const TemporaryDirectory& directory, const std::string& below = "") {
  directory.write(below + "train-images-idx3-ubyte", image_file(100));
  directory.write(below + "train-labels-idx1-ubyte.gz", gzipped(label_file(100)));
  directory.write(below + "t10k-images-idx3-ubyte.gz", gzipped(image_file(20, 200)));
  directory.write(below + "t10k-labels-idx1-ubyte", label_file(20));
}

/// Which samples of write_mnist() these are, from their pixels.
std::vector<int> samples_of(const Dataset& dataset) {
  std::vector<int> samples;
  for (std::int64_t i = 0; i < dataset.size(); ++i)
    samples.push_back(static_cast<int>(std::lround(read_one(dataset, i)[0] * 255)));
  return samples;
}

}  // namespace

TEST_CASE("a set is found in the directory given or in the one named like it, plain or gzipped", "[data]") {
  const TemporaryDirectory directory;
  write_mnist(directory, GENERATE("", "mnist/"));
  const Data data = opened("dataset: mnist\npath: " + directory.path());
  CHECK(data.name == "mnist");
  CHECK(data.notice.empty());
  CHECK(data.train->size() == 100);
  CHECK(data.test->size() == 20);
  CHECK(data.train->sample() == Shape{3, 3, 1});
  CHECK(data.train->classes() == 10);
  CHECK(data.validation == nullptr);
  CHECK(data.train->label(13) == 3);
  CHECK(read_one(*data.train, 51) == std::vector<float>(kArea, 51.0f / 255));
  CHECK(data.fingerprint.size() == 4);
}

TEST_CASE("without data.path a set is looked for in TRAINER_DATA and in ~/.cache/trainer", "[data]") {
  const TemporaryDirectory home, elsewhere;
  const EnvironmentVariable home_is("HOME", home.path());
  const bool cached = GENERATE(false, true);
  const EnvironmentVariable data_is("TRAINER_DATA", elsewhere.path());
  cached ? write_mnist(home, ".cache/trainer/mnist/") : write_mnist(elsewhere, "mnist/");
  CHECK(opened("dataset: mnist").train->size() == 100);
  const TemporaryDirectory empty;
  CHECK_THAT(data_error([&] { opened("dataset: mnist\npath: " + empty.path()); }),
             Catch::Contains("dataset file not found"));
}

TEST_CASE("a file that a config names is found where a downloaded set would be", "[data]") {
  const TemporaryDirectory home, elsewhere;
  const EnvironmentVariable home_is("HOME", home.path());
  const EnvironmentVariable data_is("TRAINER_DATA", elsewhere.path());
  const std::string settings = "dataset: {csv: {train: iris.csv, test: more.csv, target: kind}}";
  const std::string missing = data_error([&] { opened(settings); });
  CHECK_THAT(missing, Catch::Contains("looked for iris.csv[.gz]") &&
                          Catch::Contains("$TRAINER_DATA, ~/.cache/trainer and ./datasets") &&
                          Catch::Contains("trainer fetch iris"));
  for (const char* file : {"csv/iris.csv", "csv/more.csv"})
    elsewhere.write(file, bytes_of("length,kind\n1,a\n2,b\n"));
  CHECK(opened(settings).test->size() == 2);
  CHECK(opened(settings + "\npath: " + elsewhere.path()).train->size() == 2);
  CHECK(opened(settings + "\npath: " + elsewhere.path("csv")).train->size() == 2);
}

TEST_CASE("a missing set is an error with the paths that were tried, and what helps", "[data]") {
  const TemporaryDirectory empty;
  const std::string message = data_error([&] { opened("dataset: mnist\npath: " + empty.path()); });
  CHECK_THAT(message, Catch::Contains("error: dataset file not found\n  --> run.yaml:2:"));
  CHECK_THAT(message, Catch::Contains("looked for train-images-idx3-ubyte[.gz] in " + empty.path() + " or " +
                                      empty.path("mnist")));
  CHECK_THAT(message, Catch::Contains("help: -s data.path=/where/it/is, or trainer fetch mnist"));
  CHECK_THAT(data_error([&] { opened("dataset: cifar10\npath: " + empty.path()); }),
             Catch::Contains("looked for data_batch_1.bin[.gz]") &&
                 Catch::Contains("it comes from https://www.cs.toronto.edu/~kriz/cifar.html"));
  CHECK_THAT(
      data_error([&] { opened("dataset: {idx: {train_images: no-images, train_labels: no-labels}}"); }),
      Catch::Contains("looked for no-images[.gz]"));
  CHECK_THAT(data_error([&] {
               opened("dataset: {text: {file: tinyshakespeare.txt, sequence: 8}}\npath: " + empty.path());
             }),
             Catch::Contains("help: -s data.path=/where/it/is, or trainer fetch tinyshakespeare"));
  CHECK_THAT(
      data_error([&] { opened("dataset: {text: {file: letters.txt, sequence: 8}}\npath: " + empty.path()); }),
      Catch::Contains("help: -s data.path=/where/it/is") && !Catch::Contains("trainer fetch"));
}

TEST_CASE("the fallback acts when no file is found, with a notice", "[data]") {
  const TemporaryDirectory directory;
  const std::string settings = "dataset: mnist\nfallback: digits\npath: " + directory.path();
  const Data data = opened(settings);
  CHECK(data.name == "digits");
  CHECK(data.notice == "mnist not found: drawn digits instead (data.fallback)");
  CHECK(data.train->size() == 60000);
  CHECK(data.test->size() == 10000);

  write_mnist(directory);
  CHECK(opened(settings).name == "mnist");
}

TEST_CASE("a partial or damaged set is an error even with a fallback", "[data]") {
  const TemporaryDirectory directory;
  write_mnist(directory);
  const std::string settings = "dataset: mnist\nfallback: digits\npath: " + directory.path();
  SECTION("a file is missing") {
    std::filesystem::remove(directory.path("t10k-labels-idx1-ubyte"));
    CHECK_THAT(data_error([&] { opened(settings); }),
               Catch::Contains("mnist is not complete: t10k-labels-idx1-ubyte[.gz] is missing") &&
                   Catch::Contains(directory.path()));
  }
  SECTION("only one file is there") {
    for (const char* name :
         {"train-images-idx3-ubyte", "train-labels-idx1-ubyte.gz", "t10k-labels-idx1-ubyte"})
      std::filesystem::remove(directory.path(name));
    CHECK_THAT(data_error([&] { opened(settings); }), Catch::Contains("not complete"));
  }
  SECTION("a file is empty") {
    directory.write("train-images-idx3-ubyte", {});
    CHECK_THAT(data_error([&] { opened(settings); }), Catch::Contains("empty"));
  }
  SECTION("a directory is in the place of a file") {
    std::filesystem::remove(directory.path("train-images-idx3-ubyte"));
    std::filesystem::create_directory(directory.path("train-images-idx3-ubyte"));
    CHECK_THAT(data_error([&] { opened(settings); }), Catch::Contains("a directory, not a file"));
  }
  SECTION("labels lie in the place of images") {
    directory.write("train-images-idx3-ubyte", label_file(100));
    CHECK_THAT(data_error([&] { opened(settings); }), Catch::Contains("does not hold images"));
  }
  SECTION("labels and images differ in number") {
    directory.write("t10k-labels-idx1-ubyte", label_file(21));
    CHECK_THAT(data_error([&] { opened(settings); }), Catch::Contains("21 labels here, 20 images"));
  }
  SECTION("a label is no class") {
    directory.write("t10k-labels-idx1-ubyte", label_file(20, 11));
    CHECK_THAT(data_error([&] { opened(settings); }),
               Catch::Contains("label 10 is 10; the classes are 0 to 9"));
  }
  SECTION("test images have another shape") {
    directory.write("t10k-images-idx3-ubyte.gz", gzipped(idx_bytes({20, 1, 1}, Bytes(20))));
    CHECK_THAT(data_error([&] { opened(settings); }), Catch::Contains("1x1x1 here, 1x3x3 in training"));
  }
  SECTION("a checksum is wrong") {
    Bytes bad = gzipped(label_file(100));
    bad[bad.size() - 6] ^= 1;
    directory.write("train-labels-idx1-ubyte.gz", bad);
    CHECK_THAT(data_error([&] { opened(settings); }), Catch::Contains("corrupt"));
  }
}

TEST_CASE("idx reads any pair of files, with as many classes as the labels show", "[data]") {
  const TemporaryDirectory directory;
  directory.write("images.gz", gzipped(image_file(30)));
  directory.write("labels", label_file(30, 4));
  const Data data =
      opened("dataset: {idx: {train_images: images, train_labels: labels}}\npath: " + directory.path());
  CHECK(data.name == "idx");
  CHECK(data.train->classes() == 4);
  CHECK(data.train->size() == 30);
  CHECK(data.test == nullptr);

  directory.write("more", label_file(30, 5));
  CHECK_THAT(data_error([&] {
               opened(
                   "dataset: {idx: {train_images: images, train_labels: labels, test_images: images, "
                   "test_labels: more}}\npath: " +
                   directory.path());
             }),
             Catch::Contains("the classes are 0 to 3"));
  CHECK_THROWS_AS(opened("dataset: {idx: {train_images: a, train_labels: b, test_images: c}}"), Error);
}

TEST_CASE("images with channels in front lie with channels last", "[data]") {
  const TemporaryDirectory directory;
  // Two images of 2 channels, 1x3: channel c, column x of image n is 100 n + 10 c + x.
  directory.write("images", idx_bytes({2, 2, 1, 3}, {0, 1, 2, 10, 11, 12, 100, 101, 102, 110, 111, 112}));
  directory.write("labels", idx_bytes({2}, {0, 1}));
  const Data data =
      opened("dataset: {idx: {train_images: images, train_labels: labels}}\npath: " + directory.path());
  CHECK(data.train->sample() == Shape{1, 3, 2});
  std::vector<int> pixels;
  for (const float value : read_one(*data.train, 1))
    pixels.push_back(static_cast<int>(std::lround(value * 255)));
  CHECK(pixels == std::vector<int>{100, 110, 101, 111, 102, 112});
}

TEST_CASE("cifar10 takes the batches that are there, channels last", "[data]") {
  const TemporaryDirectory directory;
  const auto batch = [](std::size_t count, std::uint8_t label) {
    Bytes bytes;
    for (std::size_t i = 0; i < count; ++i) {
      bytes.push_back(label);
      for (int channel = 0; channel < 3; ++channel)
        for (int pixel = 0; pixel < 1024; ++pixel)
          bytes.push_back(static_cast<std::uint8_t>(channel * 80 + pixel % 32));
    }
    return bytes;
  };
  const std::string settings = "dataset: cifar10\npath: " + directory.path();
  directory.write("test_batch.bin", batch(1, 9));
  CHECK_THAT(data_error([&] { opened(settings); }), Catch::Contains("cifar10 is not complete"));

  directory.write("data_batch_2.bin.gz", gzipped(batch(3, 2)));
  directory.write("data_batch_4.bin", batch(2, 4));
  const Data data = opened(settings);
  CHECK(data.train->size() == 5);
  CHECK(data.test->size() == 1);
  CHECK(data.train->label(2) == 2);
  CHECK(data.train->label(3) == 4);
  CHECK(data.train->info().class_names.at(4) == "deer");
  CHECK(data.train->sample() == Shape{32, 32, 3});
  const auto pixels = read_one(*data.train, 4);
  for (std::size_t channel = 0; channel < 3; ++channel)
    CHECK(pixels[(32 * 5 + 7) * 3 + channel] == static_cast<float>(channel * 80 + 7) / 255);
  CHECK(opened(settings, 1, false).train->size() == 5);

  const auto bad = GENERATE_COPY(batch(1, 10), Bytes(3072), Bytes(3074), Bytes(3073 * 10001));
  directory.write("data_batch_4.bin", bad);
  CHECK_THAT(data_error([&] { opened(settings); }),
             Catch::Contains("not a CIFAR-10 batch") || Catch::Contains("label out of range"));
  directory.write("data_batch_4.bin", batch(2, 4));
  directory.write("data_batch_3.bin.gz", gzipped(Bytes()));
  CHECK_THAT(data_error([&] { opened(settings); }), Catch::Contains("not a CIFAR-10 batch"));
}

TEST_CASE("cifar100 has two labels for each image, and refuses other names", "[data]") {
  const TemporaryDirectory directory;
  const auto records = [](const std::vector<Bytes>& labels) {
    Bytes bytes;
    for (const Bytes& pair : labels) {
      bytes.insert(bytes.end(), pair.begin(), pair.end());
      bytes.resize(bytes.size() + 3072, 51);
    }
    return bytes;
  };
  directory.write("train.bin", records({{19, 99}, {0, 7}}));
  directory.write("test.bin", records({{3, 4}}));
  const std::string path = "\npath: " + directory.path();
  const Data fine = opened("dataset: cifar100" + path), coarse = opened("dataset: {cifar100: coarse}" + path);
  CHECK(fine.train->classes() == 100);
  CHECK(fine.train->label(0) == 99);
  CHECK(coarse.train->classes() == 20);
  CHECK(coarse.train->label(0) == 19);
  CHECK(fine.train->info().class_names.at(99) == "worm");
  CHECK(coarse.train->info().class_names.at(19) == "vehicles_2");
  CHECK(read_one(*fine.test, 0)[5] == Approx(0.2));
  const auto [bytes, message] = GENERATE_COPY(table<Bytes, std::string>({
      {records({{20, 0}}), "label 0 is 20; the classes are 0 to 19"},
      {records({{0, 0}, {1, 100}}), "label 1 is 100; the classes are 0 to 99"},
      {Bytes(3073), "3073 bytes; a batch has 3074 for each"},
      {Bytes(), "empty"},
  }));
  directory.write("train.bin", bytes);
  CHECK_THAT(data_error([&] { opened("dataset: cifar100" + path); }),
             Catch::Contains(message) && Catch::Contains("train.bin"));
}

TEST_CASE("fraction chooses by the seed, and takes a sample once", "[data]") {
  const TemporaryDirectory directory;
  write_mnist(directory);
  const std::string settings = "dataset: mnist\nfraction: 0.25\npath: " + directory.path();
  const auto chosen = samples_of(*opened(settings).train);
  CHECK(chosen.size() == 25);
  CHECK(std::set<int>(chosen.begin(), chosen.end()).size() == 25);
  CHECK(chosen == samples_of(*opened(settings).train));
  CHECK(chosen != samples_of(*opened(settings, 2).train));
  CHECK(opened(settings).test->size() == 20);
  CHECK(opened("dataset: mnist\nfraction: 1.0e-6\npath: " + directory.path()).train->size() == 1);
}

TEST_CASE("folds hold out each training sample once, as many of each class, and follow from the seed",
          "[data]") {
  const TemporaryDirectory directory;
  write_mnist(directory);
  const auto settings = [&](int number, const std::string& more = "") {
    return "dataset: mnist\nfold: {number: " + std::to_string(number) +
           ", of: 3}\npath: " + directory.path() + more;
  };
  std::multiset<int> held_out;
  for (int number = 1; number <= 3; ++number) {
    const Data data = opened(settings(number));
    const std::vector<int> fold = samples_of(*data.validation), rest = samples_of(*data.train);
    CHECK(std::ssize(fold) == (number == 1 ? 34 : 33));
    CHECK(fold.size() + rest.size() == 100);
    std::set<int> both(fold.begin(), fold.end());
    both.insert(rest.begin(), rest.end());
    CHECK(both.size() == 100);
    std::vector<int> of_class(10);
    for (std::int64_t i = 0; i < data.validation->size(); ++i)
      ++of_class[static_cast<std::size_t>(data.validation->label(i))];
    CHECK(*std::min_element(of_class.begin(), of_class.end()) >= 3);
    CHECK(*std::max_element(of_class.begin(), of_class.end()) <= 4);
    held_out.insert(fold.begin(), fold.end());
  }
  CHECK(std::set<int>(held_out.begin(), held_out.end()).size() == 100);
  CHECK(held_out.size() == 100);
  CHECK(samples_of(*opened(settings(1)).validation) == samples_of(*opened(settings(1)).validation));
  CHECK(samples_of(*opened(settings(1), 2).validation) != samples_of(*opened(settings(1)).validation));
  CHECK(opened(settings(2, "\nfraction: 0.31")).validation->size() == 10);
  CHECK_THROWS_WITH(opened(settings(4)), Catch::Contains("there are folds 1 to 3"));
  CHECK_THROWS_WITH(opened(settings(1, "\nvalidation: 0.1")), Catch::Contains("both `fold` and"));
  CHECK_THROWS_WITH(opened(settings(1, "\nfraction: 0.02")),
                    Catch::Contains("2 samples cannot make 3 folds"));
}

TEST_CASE("validation splits the training samples: none is lost, none is in both", "[data]") {
  const TemporaryDirectory directory;
  write_mnist(directory);
  const std::string settings = "dataset: mnist\nfraction: 0.5\nvalidation: 0.2\npath: " + directory.path();
  const Data data = opened(settings);
  REQUIRE(data.validation != nullptr);
  CHECK(data.train->size() == 40);
  CHECK(data.validation->size() == 10);
  auto all = samples_of(*data.train);
  for (const int sample : samples_of(*data.validation)) all.push_back(sample);
  CHECK(std::set<int>(all.begin(), all.end()).size() == 50);
  const auto without = samples_of(*opened("dataset: mnist\nfraction: 0.5\npath: " + directory.path()).train);
  CHECK(std::set<int>(all.begin(), all.end()) == std::set<int>(without.begin(), without.end()));

  try {
    opened("dataset: mnist\nvalidation: 0.999\npath: " + directory.path());
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::usage);
  }
}

TEST_CASE("per_channel uses the training samples that are left, for every split", "[data]") {
  const TemporaryDirectory directory;
  write_mnist(directory);
  const std::string settings = "dataset: mnist\nvalidation: 0.5\npath: " + directory.path();
  const Data raw = opened(settings), data = opened(settings + "\nnormalize: per_channel");
  double mean = 0, square = 0;
  for (const int sample : samples_of(*raw.train)) mean += sample / 255.0 / 50;
  for (const int sample : samples_of(*raw.train))
    square += (sample / 255.0 - mean) * (sample / 255.0 - mean) / 50;
  const double expected = (read_one(*raw.test, 3)[0] - mean) / std::sqrt(square);
  CHECK(read_one(*data.test, 3)[0] == Approx(expected).epsilon(1e-5));
  CHECK(data.validation->label(4) == raw.validation->label(4));
}

TEST_CASE("means and deviations that are given shift and scale every split", "[data]") {
  const TemporaryDirectory directory;
  write_mnist(directory);
  const std::string settings = "dataset: mnist\npath: " + directory.path() + "\nnormalize: ";
  const Data data = opened(settings + "{mean: [0.5], deviation: [0.25]}");
  CHECK(read_one(*data.train, 51)[3] == Approx((0.2 - 0.5) / 0.25));
  CHECK(read_one(*data.test, 4)[0] == Approx((0.8 - 0.5) / 0.25));
  CHECK_THROWS_WITH(opened(settings + "{mean: [0.5, 0.5], deviation: [0.25]}"),
                    Catch::Contains("2 values for 1 channels"));
  CHECK_THROWS_WITH(opened(settings + "{mean: [0.5], deviation: []}"), Catch::Contains("0 values for 1"));
  CHECK_THROWS_AS(opened(settings + "{mean: [0.5], deviation: [0]}"), Error);
}

TEST_CASE("headers alone give sizes, shapes and classes, and find files of a wrong size", "[data]") {
  const TemporaryDirectory directory;
  write_mnist(directory);
  const std::string settings =
      "dataset: mnist\nnormalize: per_channel\nvalidation: 0.1\npath: " + directory.path();
  const Data data = opened(settings, 1, false);
  CHECK(data.train->size() == 90);
  CHECK(data.validation->size() == 10);
  CHECK(data.train->sample() == Shape{3, 3, 1});
  Bytes cut = gzipped(image_file(20));
  cut.resize(cut.size() - 3);
  directory.write("t10k-images-idx3-ubyte.gz", cut);
  CHECK_THROWS_AS(opened(settings, 1, true), Error);
}

TEST_CASE("drawn digits have their labels for every order of reading", "[data]") {
  const Data data = opened("dataset: digits\nfraction: 0.01");
  CHECK(data.train->size() == 600);
  const Data whole = opened("dataset: digits");
  CHECK(whole.train->sample() == Shape{28, 28, 1});
  CHECK(whole.train->classes() == 10);
  const auto first = read_one(*whole.train, 41);
  CHECK(read_one(*whole.train, 41) == first);
  CHECK(read_one(*opened("dataset: digits", 9).train, 41) == first);
}

TEST_CASE("with labels of pixels a digit's label is where its ink is", "[data]") {
  const std::string settings = "dataset: {digits: {labels: pixels}}\nfraction: 0.02\nnormalize: per_channel";
  const Data pixels = opened(settings), images = opened("dataset: digits\nfraction: 0.02");
  REQUIRE(pixels.train->positions() == 784);
  CHECK(pixels.train->classes() == 11);
  for (const std::int64_t index : {3, 1000}) {
    std::vector<std::int32_t> labels(784);
    pixels.train->read_labels({&index, 1}, labels);
    const std::vector<float> ink = read_one(*images.train, index);
    int drawn = 0;
    for (std::size_t i = 0; i < labels.size(); ++i) {
      CHECK(labels[i] == (ink[i] * 255 < 127.5f ? 10 : images.train->label(index)));
      drawn += labels[i] < 10 ? 1 : 0;
    }
    CHECK(drawn > 20);
    CHECK(drawn < 400);
  }
  CHECK_THROWS_WITH(opened(settings + "\naugment: [horizontal_flip]"), Catch::Contains("labels would stay"));
  CHECK_THROWS_WITH(opened(settings + "\nmixup: 1"), Catch::Contains("cannot be mixed"));
}

TEST_CASE("the real MNIST reads as the world knows it", "[.real-mnist]") {
  const Data data = opened("dataset: mnist\npath: " + real_data("mnist"));
  CHECK(data.train->size() == 60000);
  CHECK(data.test->size() == 10000);
  const std::vector<int> first_labels = {5, 0, 4, 1, 9};
  for (std::size_t i = 0; i < 5; ++i)
    CHECK(data.train->label(static_cast<std::int64_t>(i)) == first_labels[i]);
  const auto first = read_one(*data.train, 0), last = read_one(*data.test, 9999);
  CHECK(std::lround(std::accumulate(first.begin(), first.end(), 0.0) * 255) == 27525);
  CHECK(std::lround(std::accumulate(last.begin(), last.end(), 0.0) * 255) == 41833);
}

}  // namespace trainer
