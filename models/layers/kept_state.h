#pragma once

#include <algorithm>
#include <span>

#include "models/layers/pass.h"
#include "models/layers/plan.h"

namespace trainer {

/// The recurrent state that the rows of a batch keep until the next batch: for each level of a recurrent
/// layer `kinds` vectors of `units`. It is a training state of the layer, for the whole batch on every rank,
/// so that checkpoints hold it and a row may move to another thread.
class KeptState {
 public:
  KeptState(std::int64_t levels, std::int64_t units, std::int64_t kinds)
      : levels_(levels), units_(units), kinds_(kinds) {}

  void setup(Plan& plan);
  /// Loads the initial state of a virtual worker's rows: zeros unless the row's sample follows its sample of
  /// the batch before.
  void begin(const VirtualWorker& worker, const Pass& pass) const;
  /// That initial state, (rows of the virtual worker, units).
  float* at_begin(std::int64_t level, std::int64_t kind, const VirtualWorker& worker,
                  const Pass& pass) const {
    return pass.buffer(begin_).data() + worker.first * begin_.per_row +
           (level * kinds_ + kind) * worker.count * units_;
  }
  /// Stores vector(worker, row of the worker, level, kind) of all rows of the batch. Every thread calls.
  template <class Vector>
  void keep(Pass& pass, Vector vector) const {
    if (pass.recomputes()) return;
    const std::span<double> lines = pass.buffer(lines_).first(pass.virtual_workers().size() * total_size());
    std::ranges::fill(lines, 0.0);
    double* line = lines.data();
    for (const VirtualWorker& worker : pass.virtual_workers()) {
      for (std::int64_t row = 0; row < worker.count; ++row) {
        double* to = line + (pass.first_row() + worker.first + row) * record_size();
        *to++ = mark_of(pass.samples()[static_cast<std::size_t>(worker.first + row)]);
        for (std::int64_t level = 0; level < levels_; ++level)
          for (std::int64_t kind = 0; kind < kinds_; ++kind) {
            const float* const from = vector(worker, row, level, kind);
            // Adding 0 takes the sign of a zero away, which a sum with other ranks would not keep.
            for (std::int64_t unit = 0; unit < units_; ++unit) *to++ = static_cast<double>(from[unit]) + 0.0;
          }
      }
      line += total_size();
    }
    store(lines, pass);
  }

 private:
  /// Elements of a row: a mark of its sample, then its vectors.
  std::int64_t record_size() const { return 1 + levels_ * kinds_ * units_; }
  std::size_t total_size() const { return static_cast<std::size_t>(batch_ * record_size()); }
  /// Never 0, which marks rows without a sample; a float holds it exactly.
  static float mark_of(std::int64_t sample) { return static_cast<float>(1 + sample % (1 << 23)); }
  void store(std::span<const double> lines, Pass& pass) const;

  std::int64_t levels_, units_, kinds_;
  std::int64_t batch_ = 0;
  StateId state_;
  Buffer<> begin_;
  Buffer<double> lines_, total_;
};

}  // namespace trainer
