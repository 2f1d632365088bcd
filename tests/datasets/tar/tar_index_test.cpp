#include "datasets/tar/tar_index.h"

#include "datasets/tar/tar_shards.h"
#include "tests/datasets/tar/tar_files.h"

namespace trainer {
namespace {

Bytes three_samples() {
  std::vector<Bytes> members;
  for (int i = 0; i < 3; ++i) {
    members.push_back(tar_member(fmt::format("{}.npy", i), bytes_of(fmt::format("array {}", i))));
    members.push_back(tar_member(fmt::format("{}.cls", i), bytes_of(fmt::format("{}", i + 4))));
  }
  return tar_file(members);
}

/// Writes the index of a shard whose members have the right checksums.
std::string index_of(const std::string& path) {
  const InputFile file(path, ExitCode::data);
  std::vector<TarSample> samples = scan_tar_shard(file);
  for (TarSample& sample : samples) sample.input.checksum = 0x12345678;
  return tar_index_text(file.size(), samples);
}

std::string read_text(const TarShards& shards, std::int64_t index) {
  Bytes bytes;
  shards.read_input(index, bytes);
  return {bytes.begin(), bytes.end()};
}

}  // namespace

TEST_CASE("an index gives the samples that the headers give", "[tar]") {
  const TemporaryDirectory directory;
  const std::string path = directory.write("a.tar", three_samples());
  const TarShards scanned({path});
  directory.write("a.tar.index", bytes_of(index_of(path)));
  const TarShards indexed({path});
  CHECK(indexed.size() == 3);
  CHECK(indexed.label(2) == 6);
  CHECK_FALSE(indexed.has_images());
  CHECK(indexed.fingerprint() == scanned.fingerprint());
  CHECK(read_text(scanned, 1) == "array 1");
  CHECK(indexed.input_place(1) == path + ": 1.npy");
  CHECK_THAT(data_error([&] { read_text(indexed, 1); }), Catch::Contains("a.tar: 1.npy") &&
                                                             Catch::Contains("member is damaged") &&
                                                             Catch::Contains("a.tar.index has 12345678"));
}

TEST_CASE("an index that is damaged, or of another file, is an error with its name", "[tar]") {
  using Catch::Contains;
  const TemporaryDirectory directory;
  const std::string path = directory.write("a.tar", three_samples());
  const std::string good = index_of(path);
  const auto problem_of = [&](const std::string& text) {
    directory.write("a.tar.index", bytes_of(text));
    const std::string problem = data_error([&] { TarShards({path}); });
    CHECK_THAT(problem, Contains("a.tar.index") && Contains("without it"));
    return problem;
  };
  CHECK_THAT(problem_of(""), Contains("truncated"));
  CHECK_THAT(problem_of(good.substr(0, good.size() - 1)), Contains("truncated"));
  std::string flipped = good;
  flipped[flipped.find("class 5") + 6] = '7';
  CHECK_THAT(problem_of(flipped), Contains("its CRC-32 is"));
  const InputFile file(path, ExitCode::data);
  const std::vector<TarSample> samples = scan_tar_shard(file);
  CHECK_THAT(problem_of(tar_index_text(file.size() + 512, samples)),
             Contains("index is of another tar file"));
  CHECK_THAT(problem_of(tar_index_text(file.size(), {})), Contains("no sample"));
  const auto change = [&](const auto& change_one) {
    std::vector<TarSample> changed = samples;
    change_one(changed[1]);
    return tar_index_text(file.size(), changed);
  };
  const std::string place = "sample 1 is no sample in";
  CHECK_THAT(problem_of(change([&](TarSample& one) { one.input.offset = file.size(); })), Contains(place));
  CHECK_THAT(problem_of(change([](TarSample& one) { one.input.offset = ~std::uint64_t{0}; })),
             Contains(place));
  CHECK_THAT(problem_of(change([](TarSample& one) { one.input.bytes = 0xffffffff; })), Contains(place));
  CHECK_THAT(problem_of(change([](TarSample& one) { one.label = 1 << 30; })), Contains(place));
  CHECK_THAT(problem_of(change([](TarSample& one) { one.label = -1; })), Contains(place));
}

}  // namespace trainer
