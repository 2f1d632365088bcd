#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "engine/parallel/communicator.h"

namespace trainer {

/// Zero-filled memory of this process alone, on large pages where the system has them. `is_sparse`: on small
/// pages, since few parts of it are written. Error(failure) when the system has none.
std::unique_ptr<SharedMemory> private_memory(std::int64_t bytes, bool is_sparse = false);

/// Memory that several processes of a host open by its name in /dev/shm. The functions return null or false,
/// never throw, when the system refuses, so that all processes can do the same then.
class NamedMemory final : public SharedMemory {
 public:
  /// Room in /dev/shm now.
  static std::int64_t room();
  static std::unique_ptr<NamedMemory> create(const std::string& name, std::int64_t bytes);
  static std::unique_ptr<NamedMemory> open(const std::string& name, std::int64_t bytes);
  ~NamedMemory() override;

  /// Makes the system set pages aside for the `part`th of `parts` equal parts, on the caller's NUMA node; a
  /// page that it lacks later would be a SIGBUS.
  bool reserve(int part, int parts);
  /// Maps the block; all of it must have been reserved.
  bool map();
  /// After this nothing is left behind however the processes end.
  static void remove_name(const std::string& name);
  std::span<std::byte> bytes() override { return {data_, static_cast<std::size_t>(data_ ? size_ : 0)}; }

 private:
  NamedMemory(int file, std::int64_t size) : file_(file), size_(size) {}

  int file_;
  std::int64_t size_;
  std::byte* data_ = nullptr;
};

}  // namespace trainer
