#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

namespace trainer {

/// Of gradients in asynchronous training: how many updates by other gradients happened between the reading of
/// the parameters that a gradient was computed from and its own update.
struct Staleness {
  double mean = 0;
  std::int64_t max = 0;
};

/// The same while gradients are counted.
struct StalenessSum {
  static constexpr std::size_t kNotes = 3;

  double gradients = 0, sum = 0, max = 0;

  void add(double staleness) { add({.gradients = 1, .sum = staleness, .max = staleness}); }
  void add(const StalenessSum& other) {
    gradients += other.gradients;
    sum += other.sum;
    max = std::max(max, other.max);
  }
  Staleness staleness() const {
    return {.mean = gradients > 0 ? sum / gradients : 0, .max = static_cast<std::int64_t>(max)};
  }
  void write_notes(std::span<double> notes) const {
    notes[0] = gradients;
    notes[1] = sum;
    notes[2] = max;
  }
  static StalenessSum of_notes(std::span<const double> notes) {
    return {.gradients = notes[0], .sum = notes[1], .max = notes[2]};
  }
};

}  // namespace trainer
