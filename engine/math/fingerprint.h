#pragma once

#include <cstdint>
#include <span>

namespace trainer {

/// A linear hash of the bits of an array whose elements may be anywhere: the sum modulo 2^64 of the 32 bits
/// of each element times an odd factor of its index (multilinear hashing, Lemire and Kaser 2014, "Strongly
/// universal string hashing is fast", with fixed factors). `first` is the index of the first of `values`.
/// Fingerprints of parts add up to that of the whole, in any order. Changes if one element changes, and
/// almost surely if several do; no protection against intent, since the factors are known. The same on all
/// processors.
std::uint64_t fingerprint(std::span<const float> values, std::int64_t first);

}  // namespace trainer
