#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace trainer {

using Sha256State = std::array<std::uint32_t, 8>;

/// Adds `count` blocks of 64 bytes to a state of SHA-256.
using AddSha256Blocks = void (*)(Sha256State& state, const std::byte* blocks, std::size_t count);

/// On every processor.
void add_sha256_blocks(Sha256State& state, const std::byte* blocks, std::size_t count);
/// By the processor's instructions for SHA-256; null if it has none.
AddSha256Blocks sha256_instructions();

}  // namespace trainer
