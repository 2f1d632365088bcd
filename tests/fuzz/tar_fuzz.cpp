// A tar shard, behind a byte 2 with right checksums of its headers, or behind a byte 1 an index of one: the
// samples lie within the file, and can be read.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "datasets/tar/tar_members.h"
#include "datasets/tar/tar_shards.h"
#include "engine/system/crc32.h"
#include "tests/fuzz/memory_file.h"
#include "tests/fuzz/target.h"

namespace trainer {
namespace {

void read_samples(const std::string& path) {
  const TarShards shards({path});
  std::vector<std::uint8_t> bytes;
  for (std::int64_t index = 0; index < shards.size(); ++index) {
    shards.read_input(index, bytes);
    expect(!bytes.empty(), "an empty sample");
    if (shards.has_labels())
      expect(shards.label(index) < TarSample::kMostClasses, "a label beyond the classes");
    else
      shards.read_target(index, bytes);
  }
}

/// Makes the checksums of headers right, so that what they claim is read.
void correct_headers(std::span<std::uint8_t> tar) {
  constexpr std::size_t kSum = 148, kSumBytes = 8, kMagic = 257;
  for (; tar.size() >= kTarBlock; tar = tar.subspan(kTarBlock)) {
    const auto header = tar.first(kTarBlock);
    if (text_of(header.subspan(kMagic, 5)) != "ustar") continue;
    std::ranges::fill(header.subspan(kSum, kSumBytes), std::uint8_t{' '});
    const std::string sum = fmt::format("{:06o}", std::accumulate(header.begin(), header.end(), 0));
    std::ranges::copy(sum, header.begin() + kSum);
  }
}

const FuzzTarget target{"tar", [](FuzzInput input) {
                          static MemoryFolder alone({"a.tar"}), indexed({"a.tar", "a.tar.index"});
                          constexpr std::uint8_t kIndex = 1, kRightSums = 2;
                          if (input.empty() || input[0] != kIndex) {
                            std::vector<std::uint8_t> tar(input.begin(), input.end());
                            if (!tar.empty() && tar[0] == kRightSums) {
                              tar.erase(tar.begin());
                              correct_headers(tar);
                            }
                            alone.hold(0, tar);
                            return read_samples(alone.path() + "/a.tar");
                          }
                          // The checksum of the index is made right, so that its lines are read.
                          std::string text(input.begin() + 1, input.end());
                          text += fmt::format("crc32 {:08x}\n", crc32_of(std::as_bytes(std::span(text))));
                          static const std::vector<std::uint8_t> zeros(8192);
                          indexed.hold(0, zeros);
                          indexed.hold(1, {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
                          read_samples(indexed.path() + "/a.tar");
                        }};

}  // namespace
}  // namespace trainer
