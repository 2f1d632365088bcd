#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

namespace trainer {

/// What memory is for.
enum class MemoryKind {
  parameters,
  gradients,
  virtual_worker_gradients,
  optimizer_state,
  activations,
  layer_states,
  residual,
  messages,
  checkpoint,
  samples
};
inline constexpr std::array<const char*, 10> kMemoryKinds{"parameters",
                                                          "gradients",
                                                          "gradients of virtual workers",
                                                          "optimizer state",
                                                          "activations and scratch",
                                                          "state of layers",
                                                          "residual of compression",
                                                          "messages",
                                                          "copy for a checkpoint",
                                                          "samples in memory"};
inline const char* name_of(MemoryKind kind) { return kMemoryKinds[static_cast<std::size_t>(kind)]; }

using MemoryByKind = std::array<std::int64_t, kMemoryKinds.size()>;

std::int64_t page_bytes();

/// Counts bytes of this process that are allocated and written; negative: given back. Threads may call.
void count_memory(MemoryKind kind, std::int64_t bytes);
/// The most counted bytes of each kind at a time, and the pages of all CountedPages that the system keeps
/// now.
MemoryByKind counted_memory();

/// Bytes that count as long as this object is.
class CountedBytes {
 public:
  CountedBytes() = default;
  CountedBytes(MemoryKind kind, std::int64_t bytes) : kind_(kind), bytes_(bytes) {
    count_memory(kind, bytes);
  }
  ~CountedBytes() { count_memory(kind_, -bytes_); }
  CountedBytes(CountedBytes&& other) noexcept : kind_(other.kind_), bytes_(std::exchange(other.bytes_, 0)) {}
  CountedBytes& operator=(CountedBytes&& other) noexcept {
    std::swap(kind_, other.kind_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }

 private:
  MemoryKind kind_ = MemoryKind::parameters;
  std::int64_t bytes_ = 0;
};

/// A block whose pages count once they are written. Each of `sharers` processes counts its part of it.
class CountedPages {
 public:
  CountedPages(MemoryKind kind, std::span<const std::byte> block, int sharers = 1);
  ~CountedPages();
  CountedPages(const CountedPages&) = delete;
  CountedPages& operator=(const CountedPages&) = delete;

  MemoryKind kind() const { return kind_; }
  /// Of the pages that are in memory, this process's part.
  std::int64_t bytes() const;

 private:
  MemoryKind kind_;
  std::span<const std::byte> block_;
  int sharers_;
};

/// For containers whose memory counts.
template <class T, MemoryKind kind>
struct CountedAllocator {
  using value_type = T;
  template <class U>
  struct rebind {
    using other = CountedAllocator<U, kind>;
  };
  T* allocate(std::size_t count) {
    T* const block = std::allocator<T>().allocate(count);
    count_memory(kind, static_cast<std::int64_t>(count * sizeof(T)));
    return block;
  }
  void deallocate(T* block, std::size_t count) {
    count_memory(kind, -static_cast<std::int64_t>(count * sizeof(T)));
    std::allocator<T>().deallocate(block, count);
  }
  bool operator==(const CountedAllocator&) const = default;
};

}  // namespace trainer
