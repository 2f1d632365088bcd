#pragma once

#include <cstdint>
#include <vector>

namespace trainer {

/// Offsets of buffers in one block of memory, where a buffer may lie over those that are no longer live.
class Buffers {
 public:
  /// The first gap of so many elements.
  std::int64_t take(std::int64_t size);
  void free(std::int64_t offset);
  /// Elements of the block.
  std::int64_t end() const { return end_; }

 private:
  struct Live {
    std::int64_t offset = 0, size = 0;
  };
  std::vector<Live> live_;  ///< by offset
  std::int64_t end_ = 0;
};

}  // namespace trainer
