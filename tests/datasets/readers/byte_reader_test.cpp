#include "datasets/readers/byte_reader.h"

#include <numeric>

#include "tests/datasets/files.h"

namespace trainer {
namespace {

Bytes counting_bytes(std::size_t count) {
  Bytes bytes(count);
  std::iota(bytes.begin(), bytes.end(), std::uint8_t{0});
  return bytes;
}

void read_all(const std::string& path) {
  ByteReader reader(path);
  Bytes bytes(static_cast<std::size_t>(reader.size()));
  reader.read(bytes);
  reader.finish();
}

}  // namespace

TEST_CASE("a file reads the same plain and gzipped, in pieces of any size", "[readers]") {
  const TemporaryDirectory directory;
  const Bytes content = counting_bytes(200001);
  const bool gzip = GENERATE(false, true);
  const std::size_t piece = GENERATE(1u, 4096u, 200001u);
  ByteReader reader(directory.write("file", gzip ? gzipped(content) : content));
  CHECK(reader.size() == 200001);
  Bytes bytes(content.size());
  for (std::size_t first = 0; first < bytes.size(); first += piece)
    reader.read(std::span(bytes).subspan(first, std::min(piece, bytes.size() - first)));
  reader.finish();
  CHECK(bytes == content);
}

TEST_CASE("the fingerprint of a gzip file changes with its content, not with its place", "[readers]") {
  const TemporaryDirectory directory;
  const auto fingerprint = [&](std::string_view name, const Bytes& bytes) {
    return ByteReader(directory.write(name, bytes)).fingerprint();
  };
  const Bytes one = gzipped({1, 2, 3}), two = gzipped({1, 2, 4});
  CHECK(one.size() == two.size());
  CHECK(fingerprint("a/x.gz", one) == fingerprint("b/x.gz", one));
  CHECK(fingerprint("a/x.gz", one) != fingerprint("b/x.gz", two));
  CHECK(fingerprint("x", {1, 2, 3}) == "x 3 bytes");
}

TEST_CASE("an unreadable file is an error that names it", "[readers]") {
  const TemporaryDirectory directory;
  CHECK_THAT(data_error([&] { read_all(directory.path("absent")); }),
             Catch::Contains("absent") && Catch::Contains("No such file"));
  CHECK_THAT(data_error([&] { read_all(directory.path()); }), Catch::Contains("a directory, not a file"));
  CHECK_THAT(data_error([&] { read_all("/dev/zero"); }), Catch::Contains("not a regular file"));
  CHECK_THAT(data_error([&] { read_all(directory.write("empty", {})); }), Catch::Contains("empty"));
  CHECK_THAT(data_error([&] {
               read_all(directory.write("plain.gz", {1, 2, 3}));
             }),
             Catch::Contains("no gzip file") && Catch::Contains("plain.gz"));
}

TEST_CASE("reading past the end and stopping before it are errors", "[readers]") {
  const TemporaryDirectory directory;
  const bool gzip = GENERATE(false, true);
  const std::string path = directory.write("file", gzip ? gzipped(counting_bytes(100)) : counting_bytes(100));
  Bytes bytes(101);
  CHECK_THAT(data_error([&] { ByteReader(path).read(bytes); }),
             Catch::Contains("truncated") && Catch::Contains("1 bytes too early"));
  CHECK_THAT(data_error([&] {
               ByteReader reader(path);
               reader.read(std::span(bytes).first(99));
               reader.finish();
             }),
             Catch::Contains("too long"));
}

TEST_CASE("a damaged gzip file never reads as a whole one", "[readers]") {
  const TemporaryDirectory directory;
  const Bytes good = gzipped(counting_bytes(5000));
  // Name, time and flags of the gzip header carry no data: damage there may pass.
  for (std::size_t position = 10; position < good.size(); ++position) {
    Bytes bad = good;
    bad[position] ^= 0x10;
    const std::string path = directory.write("bad.gz", bad);
    INFO("byte " << position);
    CHECK_THROWS_AS(read_all(path), Error);
  }
  for (std::size_t length = 1; length < good.size(); length += 7) {
    const std::string path =
        directory.write("short.gz", Bytes(good.begin(), good.begin() + static_cast<long>(length)));
    INFO("length " << length);
    CHECK_THROWS_AS(read_all(path), Error);
  }
  Bytes longer = good;
  longer.insert(longer.end(), good.begin(), good.end());
  CHECK_THAT(data_error([&] { read_all(directory.write("longer.gz", longer)); }),
             Catch::Contains("too long"));
}

TEST_CASE("several gzip files in one are named, however long the last is", "[readers]") {
  const TemporaryDirectory directory;
  const int last = GENERATE(1, 5000, 100'000);
  Bytes two = gzipped(counting_bytes(5000));
  const Bytes second = gzipped(counting_bytes(last));
  two.insert(two.end(), second.begin(), second.end());
  CHECK_THAT(data_error([&] { read_all(directory.write("two.gz", two)); }),
             Catch::Contains("it is several gzip files in one"));
}

TEST_CASE("a gzip file cannot claim more than its size can hold", "[readers]") {
  const TemporaryDirectory directory;
  Bytes liar = gzipped(counting_bytes(100));
  for (std::size_t i = 1; i <= 4; ++i) liar[liar.size() - i] = 0x7f;
  CHECK_THAT(data_error([&] { read_all(directory.write("liar.gz", liar)); }), Catch::Contains("more than"));
}

}  // namespace trainer
