#include "datasets/readers/idx_file.h"

#include "tests/datasets/files.h"

namespace trainer {
namespace {

using Content = IdxFile::Content;

}  // namespace

TEST_CASE("an IDX file gives its extents and elements, plain or gzipped", "[readers]") {
  const TemporaryDirectory directory;
  const Bytes elements = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 255};
  const Bytes bytes = idx_bytes({2, 3, 2}, elements);
  const bool gzip = GENERATE(false, true);
  IdxFile file(directory.write("images", gzip ? gzipped(bytes) : bytes), Content::images);
  CHECK(file.extents() == std::vector<std::int64_t>{2, 3, 2});
  CHECK(file.elements() == elements);
}

TEST_CASE("a bad IDX file is an error with what was expected", "[readers]") {
  const TemporaryDirectory directory;
  const auto [name, content, bytes, message] = GENERATE(table<std::string, Content, Bytes, std::string>({
      {"text", Content::images, {'h', 'e', 'l', 'l', 'o'}, "an IDX file begins with 00 00"},
      {"beginning", Content::images, {0, 0, 8}, "truncated"},
      {"half a header", Content::images, {0, 0, 8, 3, 0, 0, 0, 1, 0, 0}, "truncated"},
      {"floats", Content::images, idx_bytes({1, 1, 1}, {0, 0, 0, 0}, 0x0D), "only unsigned bytes (08)"},
      {"labels as images", Content::images, idx_bytes({3}, {1, 2, 3}), "does not hold images"},
      {"images as labels", Content::labels, idx_bytes({1, 1, 1}, {1}), "does not hold labels"},
      {"no axes", Content::labels, {0, 0, 8, 0}, "does not hold labels"},
      {"200 axes", Content::images, {0, 0, 8, 200}, "does not hold images"},
      {"nothing", Content::labels, idx_bytes({0}, {}), "holds nothing"},
      {"one too few", Content::images, idx_bytes({1, 2, 2}, {1, 2, 3}),
       "claims 1x2x2 = 4 bytes; the file has 3"},
      {"one too many", Content::images, idx_bytes({1, 2, 2}, {1, 2, 3, 4, 5}), "4 bytes; the file has 5"},
      {"a lying header", Content::images, idx_bytes({60000, 28, 28}, {1, 2}),
       "47040000 bytes; the file has 2"},
      {"4 GiB", Content::images, idx_bytes({1, 1, 0xffffffff}, {1}), "4294967295 bytes; the file has 1"},
      {"too many labels", Content::labels, idx_bytes({0xffffffff}, {1}), "more than 268435456 bytes"},
      {"overflow", Content::images, idx_bytes({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {1}),
       "too large"},
  }));
  INFO(name);
  CHECK_THAT(data_error([&, &c = content, &b = bytes] { IdxFile(directory.write("file", b), c); }),
             Catch::Contains(message) && Catch::Contains(directory.path("file")));
  // Gzipped, the header lies about the same sizes.
  CHECK_THROWS_AS(IdxFile(directory.write("file.gz", gzipped(bytes)), content), Error);
}

TEST_CASE("no change of a header makes a file read as more or less than it holds", "[readers]") {
  const TemporaryDirectory directory;
  const Bytes good = idx_bytes({2, 3, 2}, Bytes(12, 1));
  for (std::size_t position = 0; position < good.size() - 12; ++position)
    for (int bit = 0; bit < 8; ++bit) {
      Bytes bad = good;
      bad[position] = static_cast<std::uint8_t>(bad[position] ^ 1 << bit);
      INFO("byte " << position << ", bit " << bit);
      CHECK_THROWS_AS(IdxFile(directory.write("images", bad), Content::images), Error);
    }
}

TEST_CASE("two whole IDX files in one gzip file are too long, not a truncated or a whole one", "[readers]") {
  const TemporaryDirectory directory;
  const Bytes one = gzipped(idx_bytes({3, 2, 2}, Bytes(12)));
  Bytes two = one;
  two.insert(two.end(), one.begin(), one.end());
  CHECK_THAT(data_error([&] { IdxFile(directory.write("two.gz", two), Content::images); }),
             Catch::Contains("IDX file is too long") && Catch::Contains("= 12 bytes; the file has 40"));
}

TEST_CASE("a gzip bomb stops at what the header claims", "[readers]") {
  const TemporaryDirectory directory;
  Bytes bytes = idx_bytes({10, 10, 10}, Bytes(1000));
  bytes.resize(std::size_t{8} << 20);
  Bytes bomb = gzipped(bytes);
  CHECK_THAT(data_error([&] { IdxFile(directory.write("bomb.gz", bomb), Content::images); }),
             Catch::Contains("too long"));
  // One whose last bytes agree with the header unpacks to no more than promised, and is found out.
  const std::uint32_t claimed = 16 + 1000;
  for (std::size_t i = 0; i < 4; ++i) bomb[bomb.size() - 4 + i] = static_cast<std::uint8_t>(claimed >> 8 * i);
  IdxFile file(directory.write("bomb.gz", bomb), Content::images);
  CHECK_THAT(data_error([&] { file.elements(); }), Catch::Contains("too long"));
}

}  // namespace trainer
