#include <filesystem>

#include "tests/datasets/files.h"
#include "tests/support/images.h"

namespace trainer {
namespace {

namespace fs = std::filesystem;

Bytes plain(int height, int width, std::uint8_t shade) {
  const int pixels = height * width;
  return png_bytes(height, width, 1, repeated(static_cast<std::size_t>(pixels), {shade}));
}

std::string settings(const TemporaryDirectory& directory, const std::string& folder = "size: 4") {
  return "dataset: {image_folder: {" + folder + "}}\npath: " + directory.path();
}

}  // namespace

TEST_CASE("an image folder has its classes and images in order of names", "[image_folder]") {
  const TemporaryDirectory directory;
  directory.write("train/dog/b.PNG", plain(6, 8, 51));
  directory.write("train/dog/c.webp", webp_bytes(5, 5, 3, repeated(25, {51, 51, 51}), true));
  directory.write("train/dog/a.png", plain(4, 4, 102));
  directory.write("train/cat/z.jpeg", jpeg_bytes(9, 9, 3, repeated(81, {255, 0, 0})));
  directory.write("train/dog/notes.txt", bytes_of("no image"));
  directory.write("train/.hidden/x.png", bytes_of("no image"));
  directory.write("train/readme.png", bytes_of("in no class"));
  directory.write("val/dog/c.png", plain(4, 4, 255));
  const Data data = opened(settings(directory, "size: [3, 5]"));
  CHECK(data.name == "image_folder");
  CHECK(data.train->size() == 4);
  CHECK(data.train->classes() == 2);
  CHECK(data.train->sample() == Shape{3, 5, 3});
  CHECK(data.train->info().is_streamed);
  CHECK(data.train->label(0) == 0);
  CHECK(data.train->label(1) == 1);
  CHECK(data.test->label(0) == 1);  // although training's first class is not there
  for (const float number : read_one(*data.train, 1)) CHECK(number == Approx(0.4));
  for (const std::int64_t index : {2, 3})
    for (const float number : read_one(*data.train, index)) CHECK(number == Approx(0.2));
  CHECK(read_one(*data.train, 0)[0] == Approx(1).margin(0.01));
  CHECK(read_one(*data.train, 0)[1] == Approx(0).margin(0.01));
  CHECK(opened(settings(directory, "size: 4, gray: true")).train->sample() == Shape{4, 4, 1});
}

TEST_CASE("an image keeps its form: the middle is cut out of it, and scaled", "[image_folder]") {
  const TemporaryDirectory directory;
  // 4 rows of 8: column c has 16 c.
  Bytes pixels;
  for (int i = 0; i < 32; ++i) pixels.push_back(static_cast<std::uint8_t>(i % 8 * 16));
  directory.write("train/a/x.png", png_bytes(4, 8, 1, pixels));
  const auto row = [&](const std::string& folder) {
    std::vector<float> values = read_one(*opened(settings(directory, "gray: true, " + folder)).train, 0);
    for (float& value : values) value *= 255 / 16.0f;
    return values;
  };
  const auto check = [](const std::vector<float>& values, const std::vector<float>& expected) {
    REQUIRE(values.size() >= expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) CHECK(values[i] == Approx(expected[i]).margin(1e-4));
  };
  check(row("size: 4"), {2, 3, 4, 5});                             // the middle, as it is
  check(row("size: [4, 8]"), {0, 1, 2, 3, 4, 5, 6, 7});            // all of it
  check(row("size: 4, crop: 0.5"), {2.75f, 3.25f, 3.75f, 4.25f});  // the middle of the middle, twice as large
  check(row("size: [1, 2]"),
        {6.625f / 3.5f, 7 - 6.625f / 3.5f});  // a quarter: means over pixels and their neighbours
}

TEST_CASE("per_channel takes a streamed set's statistics from some of its samples", "[image_folder]") {
  const TemporaryDirectory directory;
  for (int i = 0; i < 4; ++i)
    directory.write("train/a/" + std::to_string(i) + ".png", plain(2, 2, static_cast<std::uint8_t>(51 * i)));
  const Data data = opened(settings(directory, "size: 2, gray: true") + "\nnormalize: per_channel");
  CHECK(read_one(*data.train, 0)[0] == Approx(-0.3 / std::sqrt(0.05)));
  CHECK(read_one(*data.train, 3)[0] == Approx(0.3 / std::sqrt(0.05)));
}

TEST_CASE("a folder that is no image folder is an error with the reason", "[image_folder]") {
  const TemporaryDirectory directory;
  CHECK_THAT(data_error([&] { opened(settings(directory)); }),
             Catch::Contains("looked for " + directory.path("train/CLASS/*.jpg")));
  fs::create_directories(directory.path("train"));
  CHECK_THAT(data_error([&] { opened(settings(directory)); }), Catch::Contains("no class folder found"));
  fs::create_directories(directory.path("train/cat"));
  CHECK_THAT(data_error([&] { opened(settings(directory)); }),
             Catch::Contains("a class without images") && Catch::Contains("folder cat"));
  directory.write("train/cat/a.png", plain(4, 4, 1));
  CHECK(opened(settings(directory)).test == nullptr);
  CHECK_THAT(data_error([&] { opened(settings(directory, "size: 4, test: nowhere")); }),
             Catch::Contains("nowhere"));
  directory.write("val/dog/a.png", plain(4, 4, 1));
  CHECK_THAT(data_error([&] { opened(settings(directory)); }),
             Catch::Contains("a class that training lacks") && Catch::Contains("folder dog"));
  directory.write("all/train/cat/a.png", plain(4, 4, 1));
  CHECK_THAT(data_error([&] { opened(settings(directory, "size: 4, test: all")); }),
             Catch::Contains("help: " + directory.path("all/train") + " has the folders of classes"));
}

TEST_CASE("an image that cannot be read is an error when it is read", "[image_folder]") {
  const TemporaryDirectory directory;
  directory.write("train/cat/a.png", plain(4, 4, 1));
  directory.write("train/cat/b.jpg", bytes_of("no image"));
  const Data data = opened(settings(directory));
  CHECK_NOTHROW(read_one(*data.train, 0));
  CHECK_THAT(data_error([&] { read_one(*data.train, 1); }),
             Catch::Contains("train/cat/b.jpg") && Catch::Contains("help: `damaged: skip` in image_folder"));
  fs::remove(directory.path("train/cat/a.png"));
  CHECK_THAT(data_error([&] { read_one(*data.train, 0); }), Catch::Contains("train/cat/a.png"));
}

TEST_CASE("messages of a folder that holds the class folders itself have its name", "[image_folder]") {
  const TemporaryDirectory directory;
  directory.write("set/a/x.png", bytes_of("no image"));
  const Data data =
      opened("dataset: {image_folder: {size: 4, train: .}}\npath: " + directory.path() + "/set");
  try {
    read_one(*data.train, 0);
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.diagnostics().front().place == directory.path() + "/set/a/x.png");
  }
}

TEST_CASE("damaged images are left out where the config asks for it", "[image_folder]") {
  const TemporaryDirectory directory;
  for (const char* name : {"train/cat/a.png", "train/cat/c.png", "train/dog/a.png", "val/dog/b.png"})
    directory.write(name, plain(4, 4, 51));
  const std::string skips = settings(directory, "size: 4, damaged: skip");
  CHECK(opened(skips).notice.empty());
  const std::vector<std::string> sound = opened(skips).fingerprint;
  directory.write("train/cat/b.jpg", bytes_of("no image"));
  directory.write("val/cat/a.png", bytes_of("nor this"));
  const Data data = opened(skips);
  CHECK(data.train->size() == 3);
  CHECK(data.train->label(1) == 0);
  CHECK(data.train->label(2) == 1);
  CHECK(read_one(*data.train, 2)[0] == Approx(0.2));
  CHECK(data.test->size() == 1);
  CHECK(data.test->label(0) == 1);
  CHECK(data.notice == "2 damaged images are left out: " + directory.path("train/cat/b.jpg") + ", " +
                           directory.path("val/cat/a.png"));
  CHECK(data.fingerprint.front() == sound.front());
  directory.write("val/dog/b.png", bytes_of("nor this"));
  CHECK_THAT(data_error([&] { opened(skips); }), Catch::Contains("no image is left to test on"));
  directory.write("train/dog/a.png", bytes_of("no image"));
  CHECK_THAT(data_error([&] { opened(skips); }), Catch::Contains("a class without images") &&
                                                     Catch::Contains("all images of folder dog are damaged"));
}

}  // namespace trainer
