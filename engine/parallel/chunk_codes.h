#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "engine/core/float_code.h"
#include "engine/core/memory_ledger.h"

namespace trainer {

/// Open MPI sends up to 64 KiB over TCP without asking first (btl_tcp_eager_limit), its own header included.
inline constexpr std::int64_t kChunkBetweenHosts = 60 << 10;

/// Bytes a second of a link; floats travel as they are on a link that is as fast. A GB takes 0.2 to 0.3 s of
/// encoding and decoding with AVX2, 0.4 to 1.5 s without, and sheds 0.12 to 0.55 GB: time that even plain
/// loops save below 1.8 Gbit/s.
inline constexpr double kFastLink = 0.25e9;

/// Lossless codes of the chunks of floats that travel between hosts. A chunk travels as a code where that is
/// shorter, so its receiver knows a code by its length. Buffers are used again.
class ChunkCodes {
 public:
  struct Code {
    std::array<std::byte, most_code_bytes(kChunkBetweenHosts / 4) + kFloatCodeSlack> buffer;
    std::int64_t bytes = 0;
    CountedBytes count{MemoryKind::messages, sizeof buffer};
  };

  /// True if chunks are encoded: links are so slow that it saves time.
  bool are_used() const { return are_used_; }
  void use(bool used) { are_used_ = used; }

  /// Null: the chunk travels as it is, since its code is not shorter or there is no memory for it.
  std::unique_ptr<Code> encode(std::span<const std::byte> chunk) noexcept;
  /// For a code that has left.
  void give_back(std::unique_ptr<Code> code) noexcept;
  /// Replaces the code in the first `code_bytes` of `chunk` by the floats, which fill it. False if it is not
  /// a code of so many.
  bool decode(std::span<std::byte> chunk, std::int64_t code_bytes) noexcept;

 private:
  std::unique_ptr<Code> spare() noexcept;

  bool are_used_ = false;
  std::vector<std::unique_ptr<Code>> spare_;
  std::size_t made_ = 0;
};

}  // namespace trainer
