#include "engine/parallel/chunk_codes.h"

#include <algorithm>
#include <new>
#include <utility>

namespace trainer {
namespace {

std::span<const float> floats_of(std::span<const std::byte> chunk) {
  return {reinterpret_cast<const float*>(chunk.data()), chunk.size() / sizeof(float)};
}

std::span<float> floats_of(std::span<std::byte> chunk) {
  return {reinterpret_cast<float*>(chunk.data()), chunk.size() / sizeof(float)};
}

}  // namespace

std::unique_ptr<ChunkCodes::Code> ChunkCodes::spare() noexcept {
  if (!spare_.empty()) {
    std::unique_ptr<Code> code = std::move(spare_.back());
    spare_.pop_back();
    return code;
  }
  try {
    spare_.reserve(made_ + 1);  // so that give_back() needs no memory
    auto code = std::make_unique<Code>();
    ++made_;
    return code;
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

std::unique_ptr<ChunkCodes::Code> ChunkCodes::encode(std::span<const std::byte> chunk) noexcept {
  std::unique_ptr<Code> code = spare();
  if (!code) return nullptr;
  code->bytes = encode_floats(floats_of(chunk), code->buffer);
  if (code->bytes < std::ssize(chunk)) return code;
  give_back(std::move(code));
  return nullptr;
}

void ChunkCodes::give_back(std::unique_ptr<Code> code) noexcept {
  if (code) spare_.push_back(std::move(code));
}

bool ChunkCodes::decode(std::span<std::byte> chunk, std::int64_t code_bytes) noexcept {
  std::array<std::byte, kChunkBetweenHosts + kFloatCodeSlack> code;
  std::ranges::copy(chunk.first(static_cast<std::size_t>(code_bytes)), code.begin());
  return decode_floats(std::span(code).first(static_cast<std::size_t>(code_bytes)), floats_of(chunk));
}

}  // namespace trainer
