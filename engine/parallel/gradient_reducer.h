#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/parallel/mesh.h"
#include "engine/system/thread_pool.h"

namespace trainer {

/// Holds the flat parameters and the flat gradient of every worker, and sums gradients over the blocks of all
/// data ranks while backward still runs. A worker has one gradient, in exact mode one for each node of the
/// tree over all blocks (SumTree) that its own blocks make up. Ranks of one node keep both in a shared
/// window: each sums its slice of every bucket where the gradients lie, along the tree; between nodes each
/// slice is reduce-scattered by MPI, or in exact mode what the tree leaves apart on a node is sent to the
/// slice's owner, who adds it along the tree. Each float is owned by exactly one rank of data(), which
/// updates it; publish() lets all read it. Alone, with one gradient, nothing is copied or summed. A step:
/// begin, ready ... ready, finish, agree, (update own pieces), publish.
class GradientReducer {
 public:
  struct Options {
    std::int64_t bucket_floats = 0;  ///< a bucket is closed once it is this large; 0: as the link asks for
    bool share = true;               ///< false: private buffers and MPI, as when /dev/shm is too small
    bool crowded = false;            ///< more workers than cores: waiting yields at once
    int exact_blocks = 0;            ///< blocks of the global batch in exact mode; 0: one for each worker
  };
  /// `borders`: where each parameter begins in the flat buffer, ascending from 0, and at the end the total
  /// size.
  GradientReducer(Mesh& mesh, ThreadPool& pool, std::vector<std::int64_t> borders, const Options& options);
  ~GradientReducer();

  /// All parameters. In the window of the node, so only their owner may write, between finish() and publish()
  /// (before the first step: every rank writes the same values to all, then publish()).
  std::span<float> values();
  int gradient_count() const;
  /// This rank's, by worker.
  std::span<float> gradients(int index);

  void begin();
  /// Worker's gradients [first, last) are final. Any worker thread may call, each for itself, in descending
  /// order of `first` without gaps; all workers of all ranks call in the same order.
  void ready(int worker, std::int64_t first, std::int64_t last);
  /// Waits until the sums over all data ranks of my pieces are complete.
  void finish();
  /// Adds `scalars` over all data ranks in rank order, the same bits on every rank; no rank returns before
  /// all have finished their sums. Of the last `maxima` of them the largest is taken instead.
  void agree(std::span<double> scalars, std::size_t maxima = 0);
  /// Makes every rank's updated pieces visible to all; no rank returns before it sees them all.
  void publish();

  /// The floats [first, last) this rank updates, ascending.
  struct Piece {
    std::int64_t first, last;
  };
  std::span<const Piece> pieces() const;
  /// The summed gradient of a piece (as long as the piece); valid from finish() to the next begin(). May be
  /// changed meanwhile.
  std::span<float> sums(const Piece& piece);
  /// Where gradients(0) no longer is what this rank computed, from finish() on: sums, or what became of it on
  /// the way to them.
  std::vector<Piece> overwritten() const;

  /// What publish() receives from other nodes, ascending. Ranks that share the values receive different
  /// parts.
  std::span<const Piece> copies() const;
  /// This rank's number among those that share the values, and how many they are.
  int sharer() const;
  int sharers() const;

  /// "window" or "MPI" or "window + MPI", for the header; "none" for one data rank.
  std::string transport() const;
  /// True when the ranks of a node could not have the shared memory that they would have used.
  bool lacks_shared_memory() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace trainer
