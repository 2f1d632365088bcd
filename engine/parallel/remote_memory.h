#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace trainer {

/// Memory of each rank of a group into which every rank writes by itself: one-sided messages. Zero-filled at
/// first. Several threads of a rank may call it.
class RemoteMemory {
 public:
  struct Message {
    int rank = 0;
    std::int64_t offset = 0;  ///< in bytes, in the memory of that rank
    std::span<const std::byte> bytes;
  };
  struct Counter {
    int rank = 0;
    std::int64_t offset = 0;  ///< a multiple of 8
    std::int64_t value = 0;
  };
  virtual ~RemoteMemory() = default;

  /// This rank's memory, at a multiple of 64 bytes.
  virtual std::span<std::byte> own() = 0;
  /// Returns once all bytes are where they should be.
  virtual void write(std::span<const Message> messages) = 0;
  /// Sets counters, each in one piece. Who sees one with count() sees what was written before.
  virtual void set(std::span<const Counter> counters) = 0;
  /// Lets messages of other ranks arrive. To be called from time to time while some are expected.
  virtual void receive() = 0;
  /// A counter in this rank's memory.
  std::int64_t count(std::int64_t offset) {
    return std::atomic_ref(*reinterpret_cast<std::int64_t*>(own().data() + offset))
        .load(std::memory_order_acquire);
  }
  /// Gives the memory back; without it the memory stays until the program ends. Collective.
  virtual void close() = 0;
};

/// That of a group of one.
std::unique_ptr<RemoteMemory> solo_remote_memory(std::int64_t bytes);

}  // namespace trainer
