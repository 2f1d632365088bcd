#include "datasets/tar/tar_writer.h"

#include <filesystem>
#include <fstream>
#include <iterator>

#include "datasets/tar/tar_shards.h"
#include "tests/datasets/tar/tar_files.h"

namespace trainer {
namespace {

Bytes read_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

NewTarSample image(const std::string& content, std::int32_t label) {
  return {.ending = "jpg", .input = bytes_of(content), .label = label, .values = {}};
}

}  // namespace

TEST_CASE("a written shard has the bytes that were announced, and its index is that of its headers",
          "[tar]") {
  const TemporaryDirectory directory;
  const std::string path = directory.path("a.tar");
  TarWriter writer(path);
  const NewTarSample first = image("a", 1048575), second = image(std::string(512, 'b'), 0);
  for (const NewTarSample* sample : {&first, &second}) {
    const std::uint64_t announced = writer.bytes_with(*sample);
    writer.add(std::to_string(writer.samples()), *sample);
    CHECK(writer.bytes() == announced);
  }
  const std::uint64_t expected = writer.bytes();
  const std::string sums = writer.commit();
  CHECK_THAT(sums, Catch::Contains("  a.tar\n") && Catch::Contains("  a.tar.index\n"));
  CHECK(read_bytes(path).size() == expected);

  const InputFile file(path, ExitCode::data);
  const std::vector<TarSample> scanned = scan_tar_shard(file), indexed = read_tar_index(file).value();
  REQUIRE(scanned.size() == 2);
  for (std::size_t i = 0; i < scanned.size(); ++i) {
    CHECK(indexed[i].input.offset == scanned[i].input.offset);
    CHECK(indexed[i].input.bytes == scanned[i].input.bytes);
    CHECK(indexed[i].label == scanned[i].label);
  }
  Bytes bytes;
  TarShards({path}).read_input(1, bytes);
  CHECK(bytes == second.input);
}

TEST_CASE("more shards than files that stay open are read alike", "[tar]") {
  const TemporaryDirectory directory;
  std::vector<std::string> paths;
  for (int i = 0; i < 300; ++i) {
    paths.push_back(directory.path(fmt::format("{:03}.tar", i)));
    TarWriter writer(paths.back());
    writer.add("a", image(fmt::format("image {}", i), i));
    writer.commit();
  }
  const TarShards shards(paths);
  REQUIRE(shards.size() == 300);
  Bytes bytes;
  shards.read_input(299, bytes);
  CHECK(bytes == bytes_of("image 299"));
  CHECK(shards.label(299) == 299);
}

TEST_CASE("a shard that is not ended leaves no file", "[tar]") {
  const TemporaryDirectory directory;
  const std::string path = directory.path("a.tar");
  TarWriter(path).add("a", image("a", 0));
  CHECK(std::filesystem::is_empty(directory.path()));
}

}  // namespace trainer
