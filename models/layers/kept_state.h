#pragma once

#include <algorithm>
#include <span>

#include "models/network/pass.h"
#include "models/network/plan.h"

namespace trainer {

/// What the rows of a batch remember until the next one: for each level of a recurrent layer `kinds` vectors
/// of `units`. It lies in the layer's state, the whole batch's on every rank, so that it goes into
/// checkpoints and a row may move to another worker.
class KeptState {
 public:
  KeptState(std::int64_t levels, std::int64_t units, std::int64_t kinds)
      : levels_(levels), units_(units), kinds_(kinds) {}

  void setup(Plan& plan);
  /// Fetches what a block's rows begin with: zeros unless, in training, the row's sample follows the one that
  /// it had in the batch before.
  void begin(const Block& block, const Pass& pass) const;
  /// Those vectors, (rows of the block, units).
  float* at_begin(std::int64_t level, std::int64_t kind, const Block& block, const Pass& pass) const {
    return pass.buffer(begin_).data() + block.first * begin_.per_row +
           (level * kinds_ + kind) * block.count * units_;
  }
  /// Takes vector(block, row of the block, level, kind) of all rows of the batch. Every worker calls.
  template <class Vector>
  void keep(Pass& pass, Vector vector) const {
    const std::span<double> lines = doubles(lines_, pass).first(pass.blocks().size() * total_size());
    std::ranges::fill(lines, 0.0);
    double* line = lines.data();
    for (const Block& block : pass.blocks()) {
      for (std::int64_t row = 0; row < block.count; ++row) {
        double* to = line + (pass.first_row() + block.first + row) * record_size();
        *to++ = mark_of(pass.samples()[static_cast<std::size_t>(block.first + row)]);
        for (std::int64_t level = 0; level < levels_; ++level)
          for (std::int64_t kind = 0; kind < kinds_; ++kind) {
            const float* const from = vector(block, row, level, kind);
            // Adding 0 takes the sign of a zero away, which a sum with other ranks would not keep.
            for (std::int64_t unit = 0; unit < units_; ++unit) *to++ = static_cast<double>(from[unit]) + 0.0;
          }
      }
      line += total_size();
    }
    store(lines, pass);
  }

 private:
  /// Numbers of a row: a mark of its sample, then its vectors.
  std::int64_t record_size() const { return 1 + levels_ * kinds_ * units_; }
  std::size_t total_size() const { return static_cast<std::size_t>(batch_ * record_size()); }
  /// Never 0, which marks rows without a sample; a float holds it exactly.
  static float mark_of(std::int64_t sample) { return static_cast<float>(1 + sample % (1 << 23)); }
  static std::span<double> doubles(BufferId id, const Pass& pass);
  void store(std::span<const double> lines, Pass& pass) const;

  std::int64_t levels_, units_, kinds_;
  std::int64_t batch_ = 0;
  StateId state_;
  BufferId begin_, lines_, total_;
};

}  // namespace trainer
