#include "engine/parallel/norm_sketch.h"

#include <cmath>
#include <cstdint>

namespace trainer {
namespace {

/// 1 or -1 for each index, as if drawn (the finalizer of MurmurHash3).
double sign_of(std::uint64_t index) {
  std::uint64_t bits = index + 0x9e3779b97f4a7c15;
  bits = (bits ^ bits >> 33) * 0xff51afd7ed558ccd;
  bits = (bits ^ bits >> 33) * 0xc4ceb9fe1a85ec53;
  return bits >> 63 == 0 ? 1 : -1;
}

}  // namespace

void NormSketch::add(std::span<const float> values) {
  for (std::size_t i = 0; i < values.size(); ++i)
    sums_[i % kSums] += sign_of(i) * static_cast<double>(values[i]);
}

double NormSketch::norm() const {
  double squares = 0;
  for (const double sum : sums_) squares += sum * sum;
  return std::sqrt(squares);
}

}  // namespace trainer
