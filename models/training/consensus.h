#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/parallel/all_reduce.h"
#include "models/training/hook.h"

namespace trainer {

/// The one all-reduce of a step over loss, metrics and signals, so that all ranks do the same from there on.
class Consensus {
 public:
  /// Doubles that follow the sums in a row: a flag each, and the other members of Signals.
  static constexpr std::int64_t kSignals = 12;

  Consensus(AllReduce& scalars, Communicator& model) : scalars_(scalars), model_(model) {}

  /// The signals of any rank. Adds `sums` over the data ranks: sums(), valid until the next call. Collective.
  Signals reduce(const Signals& mine, std::span<const double> sums);
  std::span<const double> sums() const { return std::span(row_).first(kinds_); }

 private:
  AllReduce& scalars_;
  Communicator& model_;
  std::vector<double> row_;
  std::size_t kinds_ = 0;
};

}  // namespace trainer
