#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "engine/core/memory_ledger.h"

namespace trainer {

/// One zero-filled block of floats, aligned to a cache line, whose size was planned before: nothing is
/// allocated while training steps run.
class Arena {
 public:
  Arena() = default;
  /// Throws Error(failure) with the size when the system has no such block.
  explicit Arena(std::int64_t floats, MemoryKind kind = MemoryKind::activations);

  /// Of so many floats, with what their alignment adds.
  static std::int64_t bytes_of(std::int64_t floats);

  std::span<float> floats() const { return {block_.get(), size_}; }

 private:
  struct Release {
    void operator()(float* block) const;
  };
  std::unique_ptr<float[], Release> block_;
  std::size_t size_ = 0;
  CountedBytes count_;
};

}  // namespace trainer
