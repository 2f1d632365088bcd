#pragma once

#include <cstdint>

namespace trainer {

/// Learns how far backward is. Gradients become final from the end of the flat buffer to its beginning.
class GradientSink {
 public:
  virtual ~GradientSink() = default;

  /// Where the final gradients of a worker begin: the flat buffer's size before backward, 0 at its end.
  virtual std::int64_t position(int worker) const = 0;
  /// The gradients of `worker` are final from `offset` on. Each worker thread calls for itself, with falling
  /// offsets; all workers of all ranks call in the same order.
  virtual void ready(int worker, std::int64_t offset) = 0;
};

}  // namespace trainer
