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
  // Behind the packed data a trailer of the right size.
  Bytes longer = good;
  longer.insert(longer.end(), good.end() - 8, good.end());
  CHECK_THAT(data_error([&] { read_all(directory.write("longer.gz", longer)); }),
             Catch::Contains("too long"));
}

TEST_CASE("a gzip file of several members is what all of them hold, in pieces of any size", "[readers]") {
  const TemporaryDirectory directory;
  // bgzip ends its files with an empty member. The first of the last two begins around the end of a buffer.
  const std::vector<std::size_t> sizes =
      GENERATE(values<std::vector<std::size_t>>({{5000, 1}, {1, 5000}, {70'000, 0}, {0, 3}, {9, 8, 7, 0}}));
  const std::size_t piece = GENERATE(1u, 4096u, 200001u);
  Bytes packed, content;
  for (const std::size_t size : sizes) {
    const Bytes member = counting_bytes(size), one = gzipped(member);
    content.insert(content.end(), member.begin(), member.end());
    packed.insert(packed.end(), one.begin(), one.end());
  }
  ByteReader reader(directory.write("x.gz", packed));
  REQUIRE(reader.size() == std::ssize(content));
  Bytes bytes(content.size());
  for (std::size_t first = 0; first < bytes.size(); first += piece)
    reader.read(std::span(bytes).subspan(first, std::min(piece, bytes.size() - first)));
  reader.finish();
  CHECK(bytes == content);
}

TEST_CASE("a member of a gzip file may begin at any place of the reader's buffer", "[readers]") {
  const TemporaryDirectory directory;
  constexpr std::size_t kBuffer = 1 << 15;
  const Bytes second = gzipped(counting_bytes(10));
  for (std::size_t before = kBuffer - 4; before < kBuffer + 3; ++before) {
    INFO(before);
    // A name in the header fills the first member up.
    Bytes two = gzipped(counting_bytes(20));
    two[3] = 8;
    Bytes name(before - two.size(), 'n');
    name.back() = 0;
    two.insert(two.begin() + 10, name.begin(), name.end());
    REQUIRE(two.size() == before);
    two.insert(two.end(), second.begin(), second.end());
    ByteReader reader(directory.write("x.gz", two));
    REQUIRE(reader.size() == 30);
    Bytes bytes(30);
    reader.read(bytes);
    reader.finish();
    CHECK(bytes[19] == 19);
    CHECK(bytes[29] == 9);
  }
}

TEST_CASE("what follows a member and is none, and damage of any member, are errors", "[readers]") {
  const TemporaryDirectory directory;
  const Bytes one = gzipped(counting_bytes(5000)), other = gzipped(counting_bytes(300));
  Bytes two = one;
  two.insert(two.end(), other.begin(), other.end());
  for (const Bytes& garbage : {Bytes{0}, Bytes{0x1f}, Bytes{0x1f, 0x8b}, Bytes{1, 2, 3, 4, 5, 6, 7, 8, 9}}) {
    Bytes longer = two;
    longer.insert(longer.end(), garbage.begin(), garbage.end());
    INFO(garbage.size());
    CHECK_THROWS_AS(read_all(directory.write("longer.gz", longer)), Error);
  }
  for (std::size_t position = 10; position < two.size(); position += 3) {
    // The header of the second member, but for its first bytes, carries no data.
    if (position >= one.size() + 3 && position < one.size() + 10) continue;
    Bytes bad = two;
    bad[position] ^= 0x10;
    INFO("byte " << position);
    CHECK_THROWS_AS(read_all(directory.write("bad.gz", bad)), Error);
  }
  for (std::size_t length = one.size() + 1; length < two.size(); ++length)
    CHECK_THROWS_AS(
        read_all(directory.write("short.gz", Bytes(two.begin(), two.begin() + static_cast<long>(length)))),
        Error);
}

TEST_CASE("the fingerprint of a gzip file of several members is of all of them", "[readers]") {
  const TemporaryDirectory directory;
  const auto fingerprint = [&](const Bytes& first, const Bytes& second) {
    Bytes two = gzipped(first);
    const Bytes more = gzipped(second);
    two.insert(two.end(), more.begin(), more.end());
    return ByteReader(directory.write("x.gz", two)).fingerprint();
  };
  CHECK(fingerprint({1, 2}, {3, 4}) != fingerprint({1, 9}, {3, 4}));
  CHECK(fingerprint({1, 2}, {3, 4}) != fingerprint({1, 2}, {3, 9}));
}

TEST_CASE("members of a gzip file are not unpacked beyond a limit", "[readers]") {
  const TemporaryDirectory directory;
  const Bytes member = gzipped(Bytes(std::size_t{40} << 20, 0));
  Bytes two = member;
  two.insert(two.end(), member.begin(), member.end());
  CHECK_THAT(data_error([&] { ByteReader(directory.write("bomb.gz", two)); }),
             Catch::Contains("gzip file of several members unpacks to more than the limit"));
}

TEST_CASE("a gzip file cannot claim more than its size can hold", "[readers]") {
  const TemporaryDirectory directory;
  Bytes liar = gzipped(counting_bytes(100));
  for (std::size_t i = 1; i <= 4; ++i) liar[liar.size() - i] = 0x7f;
  CHECK_THAT(data_error([&] { read_all(directory.write("liar.gz", liar)); }), Catch::Contains("more than"));
}

}  // namespace trainer
