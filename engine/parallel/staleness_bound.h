#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace trainer {

/// The order in which workers read the values of a shard and update them, so that no gradient becomes staler
/// than a bound. The staleness of a gradient is the number of updates between the reading of the values that
/// it was computed from and its own update. A worker has one gradient under way at a time.
///
/// A gradient that was computed from version v must be among the next bound + 1 updates after v. An update
/// may happen if all other gradients under way can still keep that, the oldest first; so one of them always
/// may, once its worker has computed.
class StalenessBound {
 public:
  StalenessBound(int workers, std::int64_t bound)
      : read_at_(static_cast<std::size_t>(workers)), bound_(bound) {}

  /// The number of updates so far.
  std::int64_t version() const { return version_; }
  void set_version(std::int64_t version) { version_ = version; }
  /// What the worker read, if its gradient is under way.
  std::optional<std::int64_t> version_of(int worker) const { return read_at_[index(worker)]; }

  /// The number of workers that have read and not updated.
  std::int64_t under_way() const;
  /// True if one more worker may read now.
  bool may_read() const { return under_way() <= bound_; }
  void read(int worker);
  /// True if this worker, which has read, may update now.
  bool may_update(int worker) const;
  /// Returns the staleness of the worker's gradient. logic_error if it exceeds the bound.
  std::int64_t update(int worker);
  /// The worker's gradient does not come.
  void leave(int worker) { read_at_[index(worker)].reset(); }

 private:
  static std::size_t index(int worker) { return static_cast<std::size_t>(worker); }

  std::vector<std::optional<std::int64_t>> read_at_;  ///< the version that a worker has read
  std::int64_t bound_, version_ = 0;
};

}  // namespace trainer
