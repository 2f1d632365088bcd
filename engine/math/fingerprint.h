#pragma once

#include <cstdint>
#include <span>

namespace trainer {

/// A linear hash of the bits of an array whose elements may be anywhere: multilinear hashing (Lemire and
/// Kaser 2014, "Strongly universal string hashing is fast") with fixed factors. `first` is the index of the
/// first of `values`. Fingerprints of parts add up to that of the whole, in any order. The same on all
/// processors.
///
/// Elements are in blocks of 8 rows of 16 columns. With l and u as the lower and the upper half of an
/// element, signed numbers of 16 bits, the hash is the sum modulo 2^64 of (v l + w u) (f + b g): v and w
/// belong to the row, f and g to the column, b is the block. A change of one half of one element always
/// changes it, any other of one element but for one in 2^25, changes of several elements almost surely. No
/// protection against intent, since the factors are known.
std::uint64_t fingerprint(std::span<const float> values, std::int64_t first);

/// Reads the values once for their fingerprint and largest_magnitude() (engine/math/square_sum.h).
struct FingerprintAndLargest {
  std::uint64_t sum = 0;
  std::uint32_t largest = 0;
};
FingerprintAndLargest fingerprint_and_largest(std::span<const float> values, std::int64_t first);

/// Fingerprints of rows of equal size, each an array of its own.
void row_fingerprints(std::span<const float> rows, std::span<std::uint64_t> sums);

}  // namespace trainer
