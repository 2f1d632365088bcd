#include "engine/math/fingerprint.h"

#include <algorithm>
#include <array>
#include <bit>

#include "engine/math/checksum.h"
#include "engine/math/kernels/kernels.h"

namespace trainer {
namespace {

/// Keys of so many pairs stay in the first cache; those of a later block are these times its factor.
constexpr std::int64_t kBlock = 1024;

constexpr std::array<std::uint64_t, kBlock> block_keys() {
  std::array<std::uint64_t, kBlock> keys{};
  std::uint64_t index = 0;
  for (std::uint64_t& key : keys) key = mixed(++index * 0x9E3779B97F4A7C15u) | 1;
  return keys;
}
constexpr std::array<std::uint64_t, kBlock> kKeys = block_keys();

std::uint64_t factor_of(std::int64_t block) { return mixed(static_cast<std::uint64_t>(block)) | 1; }

/// An element of which the other one of its pair is elsewhere.
std::uint64_t single(float value, std::int64_t index) {
  const std::uint64_t bits = std::bit_cast<std::uint32_t>(value);
  const std::int64_t pair = index / 2;
  return (index % 2 == 0 ? bits : bits << 32) * kKeys[static_cast<std::size_t>(pair % kBlock)] *
         factor_of(pair / kBlock);
}

}  // namespace

std::uint64_t fingerprint(std::span<const float> values, std::int64_t first) {
  std::uint64_t total = 0;
  if (first % 2 == 1 && !values.empty()) {
    total += single(values.front(), first++);
    values = values.subspan(1);
  }
  if (values.size() % 2 == 1) {
    total += single(values.back(), first + std::ssize(values) - 1);
    values = values.first(values.size() - 1);
  }
  const std::int64_t pairs = std::ssize(values) / 2;
  for (std::int64_t done = 0; done < pairs;) {
    const std::int64_t pair = first / 2 + done, place = pair % kBlock;
    const std::int64_t here = std::min(kBlock - place, pairs - done);
    total += factor_of(pair / kBlock) *
             kernels().checksum->keyed_sum(here, values.data() + 2 * done, kKeys.data() + place);
    done += here;
  }
  return total;
}

}  // namespace trainer
