#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

namespace trainer {

/// A counter that one worker moves and all see, on a cache line of its own. An atomic operation on plain
/// memory: a window belongs to several processes, none of which constructs objects in it.
struct alignas(64) SharedCounter {
  std::int64_t value;

  /// Whoever loads this count sees what was written before it was stored.
  void store(std::int64_t count) { std::atomic_ref(value).store(count, std::memory_order_release); }
  std::int64_t load() { return std::atomic_ref(value).load(std::memory_order_acquire); }
};

/// Bytes of `count` elements, rounded up to whole cache lines.
template <class T>
std::int64_t bytes_of(std::int64_t count) {
  constexpr std::int64_t kLine = alignof(SharedCounter);
  return (count * static_cast<std::int64_t>(sizeof(T)) + kLine - 1) / kLine * kLine;
}

/// Cuts the next `count` elements off the front of `room`.
template <class T>
std::span<T> take(std::span<std::byte>& room, std::int64_t count) {
  const std::span<T> taken(reinterpret_cast<T*>(room.data()), static_cast<std::size_t>(count));
  room = room.subspan(static_cast<std::size_t>(bytes_of<T>(count)));
  return taken;
}

}  // namespace trainer
