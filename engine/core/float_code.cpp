#include "engine/core/float_code.h"

#include <algorithm>
#include <array>

#include "engine/core/float_blocks.h"

namespace trainer {
namespace {

constexpr std::size_t kBlock = kFloatCodeBlock;

const FloatBlocks& blocks() {
  static const FloatBlocks* const with_avx2 = avx2_float_blocks();
  return with_avx2 ? *with_avx2 : plain_float_blocks;
}

}  // namespace

std::int64_t encode_floats(std::span<const float> values, std::span<std::byte> code) {
  const auto encode = blocks().encode;
  std::byte* next = code.data();
  for (; values.size() >= kBlock; values = values.subspan(kBlock)) next = encode(values.data(), next);
  if (!values.empty()) {
    std::array<float, kBlock> block = {};
    std::ranges::copy(values, block.begin());
    next = encode(block.data(), next);
  }
  return next - code.data();
}

bool decode_floats(std::span<const std::byte> code, std::span<float> values) {
  const auto decode = blocks().decode;
  const std::byte* next = code.data();
  const std::byte* const end = next + code.size();
  for (; values.size() >= kBlock && next < end; values = values.subspan(kBlock))
    next = decode(next, values.data());
  if (!values.empty() && values.size() < kBlock && next < end) {
    std::array<float, kBlock> block;
    next = decode(next, block.data());
    std::ranges::copy(std::span(block).first(values.size()), values.begin());
    values = {};
  }
  return values.empty() && next == end;
}

}  // namespace trainer
