#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace trainer {

/// A lossless code of 32-bit floats for gradients and parameters: any bits come back. Blocks of 64 elements
/// have one exponent each. An element that is 0 takes a bit, if there are more than two in its block; another
/// one takes sign, mantissa and 4 bits of the distance to the largest exponent of the block. Where 4 bits are
/// too few, elements are as they were.

/// Bytes of the code of uniform values, which parameters resemble, over theirs. Gradients have zeros.
inline constexpr double kCodeOfUniform = 0.88;

/// The most bytes of the code of `count` floats, and bytes behind a code that decode_floats() may read and
/// encode_floats() may overwrite.
inline constexpr std::int64_t kFloatCodeSlack = 256;
constexpr std::int64_t most_code_bytes(std::int64_t count) { return (count + 63) / 64 * (10 + 4 * 64); }

/// `code` has room for most_code_bytes() and kFloatCodeSlack. Returns the bytes of the code.
std::int64_t encode_floats(std::span<const float> values, std::span<std::byte> code);
/// kFloatCodeSlack bytes of memory lie behind `code`. False if it is not the code of as many floats.
[[nodiscard]] bool decode_floats(std::span<const std::byte> code, std::span<float> values);

}  // namespace trainer
