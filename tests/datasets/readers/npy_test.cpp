#include <limits>

#include "tests/datasets/readers/npy_files.h"

namespace trainer {

TEST_CASE("arrays make a data set, pixels as x / 255 and channels where they belong", "[npy]") {
  const TemporaryDirectory directory;
  // Two images of 2 channels, 1x3: channel c, column x of image n is 100 n + 10 c + x.
  const Bytes pixels = {0, 1, 2, 10, 11, 12, 100, 101, 102, 110, 111, 112};
  directory.write("x.npy", npy(header("|u1", "2, 2, 1, 3"), pixels));
  directory.write("y.npy", npy(header("<i8", "2,"), stored<std::int64_t>({0, 4})));
  const std::string path = "\npath: " + directory.path();
  const Data data =
      opened("dataset: {npy: {train_inputs: x.npy, train_targets: y.npy, channels: first}}" + path);
  CHECK(data.train->sample() == Shape{1, 3, 2});
  CHECK(data.train->classes() == 5);
  CHECK(data.train->label(1) == 4);
  const std::vector<float> image = {100.0f / 255, 110.0f / 255, 101.0f / 255,
                                    111.0f / 255, 102.0f / 255, 112.0f / 255};
  CHECK(read_one(*data.train, 1) == image);

  directory.write("map.npy", npy(header("|u1", "2, 3, 2"), pixels));
  const Data maps = opened(
      "dataset: {npy: {train_inputs: x.npy, train_targets: map.npy, targets: numbers, "
      "channels: none, test_inputs: x.npy, test_targets: map.npy}}" +
      path);
  CHECK(maps.train->target() == Shape{3, 2, 1});
  CHECK(maps.train->sample() == Shape{2, 1, 3});
  CHECK(targets_of(*maps.test, 1) == std::vector<float>{100, 101, 102, 110, 111, 112});
}

TEST_CASE("arrays that are streamed read as those in memory do", "[npy]") {
  const TemporaryDirectory directory;
  // Longer than what is read at once, so that rows are read in pieces.
  constexpr std::size_t kSample = 2 * 90 * 100;
  std::vector<double> elements(3 * kSample);
  for (std::size_t i = 0; i < elements.size(); ++i) elements[i] = static_cast<double>(i) / 8;
  directory.write("x.npy", npy(header("<f8", "3, 2, 90, 100"), stored(elements)));
  directory.write("pixels.npy", npy(header("|u1", "3, 2, 2"), {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 255}));
  directory.write("y.npy", npy(header(">i2", "3"), {0, 1, 0, 2, 0, 0}));
  const auto [arrays, channels] = GENERATE(table<std::string, std::string>({
      {"train_inputs: x.npy, train_targets: y.npy", "first"},
      {"train_inputs: x.npy, train_targets: x.npy, targets: numbers", "first"},
      {"train_inputs: pixels.npy, train_targets: y.npy", "none"},
  }));
  const auto data = [&, &a = arrays, &c = channels](const std::string& more) {
    return opened("dataset: {npy: {" + a + ", channels: " + c + more +
                  "}}\nnormalize: per_channel\npath: " + directory.path());
  };
  const Data streamed = data(", streamed: true"), whole = data("");
  INFO(arrays);
  CHECK(streamed.train->info().is_streamed);
  CHECK(streamed.train->stored_bytes() == 0);
  CHECK(streamed.train->classes() == whole.train->classes());
  REQUIRE(streamed.train->sample() == whole.train->sample());
  for (std::int64_t i = 0; i < 3; ++i) {
    CHECK(read_one(*streamed.train, i) == read_one(*whole.train, i));
    if (whole.train->classes() > 0) {
      CHECK(streamed.train->label(i) == whole.train->label(i));
      continue;
    }
    CHECK(targets_of(*streamed.train, i) == targets_of(*whole.train, i));
  }
}

TEST_CASE("an array that cannot be streamed, or is damaged where it is read, is an error", "[npy]") {
  const TemporaryDirectory directory;
  const float none = std::numeric_limits<float>::quiet_NaN();
  const Bytes bytes = npy(header("<f4", "2, 2"), stored<float>({1, 2, none, 4}));
  const std::string settings =
      "dataset: {npy: {train_inputs: x.npy, train_targets: y.npy, streamed: true}}\npath: " +
      directory.path();
  directory.write("y.npy", npy(header("|u1", "2"), {0, 1}));
  const std::string name = GENERATE("x.npy", "x.npy.gz");
  directory.write(name, gzipped(bytes));
  CHECK_THAT(data_error([&] { opened(settings); }),
             Catch::Contains("a packed array cannot be streamed") && Catch::Contains(name));
  directory.write("x.npy", bytes);
  const Data data = opened(settings);
  CHECK(read_one(*data.train, 0) == std::vector<float>{1, 2});
  CHECK_THAT(data_error([&] { read_one(*data.train, 1); }),
             Catch::Contains("element 2 is nan") && Catch::Contains("x.npy"));
  directory.write("x.npy", Bytes(bytes.begin(), bytes.end() - 12));
  CHECK_THAT(data_error([&] { read_one(*data.train, 0); }), Catch::Contains("x.npy"));
}

TEST_CASE("labels may stand for each pixel", "[npy]") {
  const TemporaryDirectory directory;
  directory.write("x.npy", npy(header("|u1", "3, 2, 2, 5"), Bytes(60)));
  directory.write("y.npy", npy(header("|u1", "3, 2, 2"), {0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 0, 1}));
  directory.write("turned.npy", npy(header("|u1", "2, 3, 2"), Bytes(12)));
  const std::string path = "\npath: " + directory.path();
  const Data data = opened("dataset: {npy: {train_inputs: x.npy, train_targets: y.npy}}" + path);
  CHECK(data.train->positions() == 4);
  CHECK(data.train->classes() == 8);
  std::vector<std::int32_t> labels(8);
  const std::vector<std::int64_t> samples = {2, 1};
  data.train->read_labels(samples, labels);
  CHECK(labels == std::vector<std::int32_t>{0, 1, 0, 1, 4, 5, 6, 7});
  CHECK_THAT(
      data_error([&] { opened("dataset: {npy: {train_inputs: x.npy, train_targets: turned.npy}}" + path); }),
      Catch::Contains("differ in number"));
}

TEST_CASE("sequences with padding have lengths, which parts of a set and statistics know", "[npy]") {
  const TemporaryDirectory directory;
  // Five sequences of 3 positions with one number each; padding is 100.
  const std::vector<float> values = {1, 2, 3, 1, 100, 100, 2, 2, 100, 3, 3, 3, 1, 3, 100};
  directory.write("x.npy", npy(header("<f4", "5, 3, 1"), stored(values)));
  // Targets repeat the lengths.
  directory.write("y.npy", npy(header("<f4", "5, 2"), stored<float>({3, 0, 1, 0, 2, 0, 3, 0, 2, 0})));
  directory.write("lengths.npy", npy(header("<i4", "5"), stored<std::int32_t>({3, 1, 2, 3, 2})));
  directory.write("long.npy", npy(header("<i4", "5"), stored<std::int32_t>({3, 1, 2, 4, 2})));
  directory.write("empty.npy", npy(header("<i4", "5"), stored<std::int32_t>({3, 0, 2, 3, 2})));
  directory.write("few.npy", npy(header("<i4", "4"), stored<std::int32_t>({3, 1, 2, 3})));
  directory.write("labels.npy", npy(header("|u1", "5"), Bytes(5)));
  const auto settings = [&](const std::string& more, const std::string& targets = "y.npy, targets: numbers") {
    return "dataset: {npy: {train_inputs: x.npy, train_targets: " + targets + more +
           "}}\npath: " + directory.path();
  };
  const std::string lengths = ", train_lengths: lengths.npy";
  const auto more = GENERATE("", ", streamed: true");
  const Data data = opened(settings(lengths + more) + "\nvalidation: 0.4\nnormalize: per_channel");
  for (const Dataset* part : {data.train.get(), data.validation.get()}) {
    REQUIRE(part->has_lengths());
    for (std::int64_t i = 0; i < part->size(); ++i)
      CHECK(static_cast<float>(part->length(i)) == targets_of(*part, i)[0]);
  }
  std::int64_t total = 0;
  double mean = 0;
  for (std::int64_t i = 0; i < data.train->size(); ++i) {
    const std::vector<float> own = read_one(*data.train, i);
    for (std::int64_t t = 0; t < data.train->length(i); ++t) mean += own[static_cast<std::size_t>(t)];
    total += data.train->length(i);
  }
  CHECK(mean / static_cast<double>(total) == Approx(0).margin(1e-6));
  CHECK_FALSE(opened(settings(more)).train->has_lengths());

  const auto error = [&](const std::string& file) {
    return data_error([&] { opened(settings(", train_lengths: " + file + more)); });
  };
  CHECK_THAT(error("long.npy"), Catch::Contains("sample 3 has a length of 4") && Catch::Contains("long.npy"));
  CHECK_THAT(error("empty.npy"), Catch::Contains("sample 1 has a length of 0"));
  CHECK_THAT(error("few.npy"), Catch::Contains("one integer for each of 5 samples, it is 4"));
  CHECK_THAT(error("y.npy"), Catch::Contains("it is 5x2 floats"));
  CHECK_THAT(error("absent.npy"), Catch::Contains("absent.npy"));
  const std::string test = ", test_inputs: x.npy, test_targets: y.npy";
  CHECK_THROWS_WITH(opened(settings(lengths + test)),
                    Catch::Contains("lengths are given for one split only"));
  CHECK_THROWS_WITH(opened(settings(lengths + ", test_lengths: lengths.npy")),
                    Catch::Contains("lengths are given for one split only"));
  CHECK_THROWS_WITH(opened(settings(test + ", test_lengths: lengths.npy")),
                    Catch::Contains("lengths are given for one split only"));
  CHECK_THROWS_WITH(opened(settings(lengths + more, "labels.npy") + "\nmixup: 0.2"),
                    Catch::Contains("samples of several lengths"));
}

TEST_CASE("arrays that do not fit together are an error", "[npy]") {
  const TemporaryDirectory directory;
  directory.write("x.npy", npy(header("|u1", "2, 3"), Bytes(6)));
  directory.write("three.npy", npy(header("|u1", "3"), Bytes(3)));
  directory.write("floats.npy", npy(header("<f4", "2"), Bytes(8)));
  directory.write("negative.npy", npy(header("|i1", "2"), {0, 255}));
  directory.write("y.npy", npy(header("|u1", "2"), {0, 1}));
  directory.write("far.npy", npy(header("|u1", "2"), {0, 2}));
  directory.write("wide.npy", npy(header("|u1", "2, 4"), Bytes(8)));
  directory.write("one.npy", npy(header("|u1", ""), Bytes(1)));
  const auto error = [&](const std::string& settings) {
    return data_error([&] { opened("dataset: {npy: {" + settings + "}}\npath: " + directory.path()); });
  };
  CHECK_THAT(error("train_inputs: x.npy, train_targets: three.npy"),
             Catch::Contains("2 inputs, targets are 3"));
  CHECK_THAT(error("train_inputs: x.npy, train_targets: floats.npy"),
             Catch::Contains("does not hold labels"));
  CHECK_THAT(error("train_inputs: x.npy, train_targets: x.npy"), Catch::Contains("does not hold labels"));
  CHECK_THAT(error("train_inputs: x.npy, train_targets: negative.npy"), Catch::Contains("label 1 is -1"));
  CHECK_THAT(error("train_inputs: one.npy, train_targets: one.npy"), Catch::Contains("a scalar"));
  CHECK_THAT(error("train_inputs: x.npy, train_targets: y.npy, test_inputs: x.npy, test_targets: far.npy"),
             Catch::Contains("label 1 is 2; the classes are 0 to 1"));
  CHECK_THAT(error("train_inputs: x.npy, train_targets: y.npy, test_inputs: wide.npy, test_targets: y.npy"),
             Catch::Contains("4 and scalar here, 3 and scalar in training"));
  CHECK_THAT(error("train_inputs: x.npy, train_targets: absent.npy"), Catch::Contains("absent.npy"));
  CHECK_THROWS_AS(opened("dataset: {npy: {train_inputs: x.npy, train_targets: y.npy, test_inputs: x.npy}}"),
                  Error);
}

}  // namespace trainer
