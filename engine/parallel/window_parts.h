#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

namespace trainer {

/// A counter that one worker writes and all read, on a cache line of its own. Atomic operations on plain
/// memory: several processes map a window, and none constructs objects in it.
struct alignas(64) SharedCounter {
  std::int64_t value;
  std::int32_t sleepers;

  /// A thread that loads this count sees all writes before the store.
  void store(std::int64_t count) {
    std::atomic_ref(value).store(count);
    if (std::atomic_ref(sleepers).load() > 0) wake();
  }
  std::int64_t load() { return std::atomic_ref(value).load(std::memory_order_acquire); }
  /// Sleeps until the count changes or a short time is over; returns at once if it has reached `count`.
  void sleep_below(std::int64_t count);

 private:
  void wake();
  /// Half of `value`, as the system waits on 32 bits only.
  std::int32_t* low_half();
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
