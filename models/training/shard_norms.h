#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/math/square_sum.h"
#include "engine/parallel/all_reduce.h"

namespace trainer {

/// Finds the norms of arrays of which each rank has parts. The bits do not depend on the partition.
class ShardNorms {
 public:
  explicit ShardNorms(std::size_t arrays);

  /// for_each(visit) calls visit(array, part) for the parts of this rank, each of which counts on one rank;
  /// it is called twice. The norm of an array with a value that is not finite is infinite. Valid until the
  /// next call. Collective over the data ranks, through `scalars`, and over `model`.
  template <class ForEach>
  std::span<const double> find(const ForEach& for_each, AllReduce& scalars, Communicator& model) {
    begin();
    for_each([this](std::size_t array, std::span<const float> part) { measure(array, part); });
    share_largest(scalars, model);
    for_each([this](std::size_t array, std::span<const float> part) { add(array, part); });
    return sum(scalars, model);
  }

 private:
  void begin();
  void measure(std::size_t array, std::span<const float> part);
  void share_largest(AllReduce& scalars, Communicator& model);
  void add(std::size_t array, std::span<const float> part);
  std::span<const double> sum(AllReduce& scalars, Communicator& model);
  bool is_finite(std::size_t array) const;

  std::vector<double> largest_;  ///< magnitudes of each array, as the bits of a float; then its norm
  std::vector<SquareSum> squares_;
  std::vector<double> parts_;  ///< two for each of these sums
};

}  // namespace trainer
