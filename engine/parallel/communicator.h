#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/core/error.h"
#include "engine/parallel/heartbeat.h"
#include "engine/parallel/remote_memory.h"

namespace trainer {

/// A nonblocking collective. Between hosts its messages move in the background; on one host only inside
/// test() and wait().
class Request {
 public:
  virtual ~Request() = default;
  /// True once the collective is complete; never blocks.
  virtual bool test() = 0;
  virtual void wait() = 0;
};

/// A request that is complete.
std::unique_ptr<Request> complete_request();

/// Memory that the ranks of one node share; zero-filled and 64-byte aligned at first.
class SharedMemory {
 public:
  virtual ~SharedMemory() = default;
  virtual std::span<std::byte> bytes() = 0;
};

/// A group of ranks. Every call but rank() and size() is collective: all ranks make it, in the same order.
/// solo() is a real implementation, so callers need no branch for one rank. Only one thread of a rank may
/// call. Errors of MPI are Error(lost) with MPI's message.
class Communicator {
 public:
  virtual ~Communicator() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// The number of a rank of this group among all ranks.
  virtual int world_rank(int rank) const = 0;
  /// Of this process; one for all groups.
  virtual Heartbeat& heartbeat() = 0;
  /// Whether floats travel between hosts in a lossless code (float_code.h).
  virtual bool encodes_floats() const { return false; }

  virtual void barrier() = 0;
  /// Element by element over all ranks; the result has the same bits on every rank.
  virtual void sum(std::span<float> values) = 0;
  virtual void sum(std::span<double> values) = 0;
  /// Modulo 2^64.
  virtual void sum(std::span<std::int64_t> values) = 0;
  virtual void maximum(std::span<double> values) = 0;
  virtual void broadcast(std::span<std::byte> bytes, int root) = 0;
  /// Every rank's bytes, by rank, on `root`; empty elsewhere. Lengths may differ.
  virtual std::vector<std::vector<std::byte>> gather(std::span<const std::byte> mine, int root) = 0;
  /// Rank r's `mine` lands in `all` behind those of the ranks before it; counts[r] floats of each rank.
  /// `mine` may lie in its own place inside `all`.
  virtual void all_gather(std::span<const float> mine, std::span<float> all,
                          std::span<const std::int64_t> counts) = 0;
  /// all_gather() that runs while the caller computes; `mine` and `all` must stay until it is complete.
  virtual std::unique_ptr<Request> start_all_gather(std::span<const float> mine, std::span<float> all,
                                                    std::span<const std::int64_t> counts) = 0;
  /// The same of bytes.
  virtual std::unique_ptr<Request> start_all_gather(std::span<const std::byte> mine, std::span<std::byte> all,
                                                    std::span<const std::int64_t> counts) = 0;
  /// Sums `values` over all ranks and leaves rank r's part, counts[r] floats, at its place in `values`; the
  /// rest is undefined afterwards. `values` must stay until the request is complete.
  virtual std::unique_ptr<Request> start_reduce_scatter(std::span<float> values,
                                                        std::span<const std::int64_t> counts) = 0;
  /// Block r of `out` (counts_out[r] floats) goes to rank r; `in` is filled from rank 0, 1, ... by counts_in.
  virtual void all_to_all(std::span<const float> out, std::span<const std::int64_t> counts_out,
                          std::span<float> in, std::span<const std::int64_t> counts_in) = 0;
  virtual std::unique_ptr<Request> start_all_to_all(std::span<const float> out,
                                                    std::span<const std::int64_t> counts_out,
                                                    std::span<float> in,
                                                    std::span<const std::int64_t> counts_in) = 0;
  /// The same of bytes.
  virtual std::unique_ptr<Request> start_all_to_all(std::span<const std::byte> out,
                                                    std::span<const std::int64_t> counts_out,
                                                    std::span<std::byte> in,
                                                    std::span<const std::int64_t> counts_in) = 0;

  /// Ranks with equal `color` form a group, ordered by `key`, then by rank.
  virtual std::unique_ptr<Communicator> split(int color, int key) = 0;
  /// The ranks of this group that share a host's memory, ordered by rank.
  virtual std::unique_ptr<Communicator> split_by_host() = 0;
  /// One block that all ranks of this group, which must be on one host, see. Null on every rank when any of
  /// them lacks room in /dev/shm. Its name is gone before this returns, so nothing is ever left behind.
  virtual std::unique_ptr<SharedMemory> shared(std::int64_t bytes) = 0;
  /// `bytes` of this rank into which all ranks of the group write; ranks may have different numbers.
  virtual std::unique_ptr<RemoteMemory> remote_memory(std::int64_t bytes) = 0;

  /// Ends all ranks of the program at once with this exit code. Print before calling.
  [[noreturn]] virtual void abort(ExitCode code) = 0;
};

/// The group of one.
std::unique_ptr<Communicator> solo();

}  // namespace trainer
