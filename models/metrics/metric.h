#pragma once

#include <span>
#include <string>
#include <vector>

#include "datasets/dataset.h"
#include "engine/config/registry.h"
#include "engine/core/tensor.h"

namespace trainer {

/// Scores of the samples of a class, and of all others.
struct ClassScores {
  std::vector<float> own, others;
};

/// How good outputs are. Exact over batches and ranks: sums are added, and the value follows from them at the
/// end.
class Metric {
 public:
  static constexpr const char* kFamily = "metric";
  virtual ~Metric() = default;

  virtual void setup(const Shape& output, int classes) = 0;
  /// "accuracy", "top_5": the column's name in results.csv.
  virtual std::string name() const = 0;
  /// "acc", for the terminal.
  virtual std::string short_name() const { return name(); }
  virtual bool higher_is_better() const { return true; }
  /// A fraction that people read in percent.
  virtual bool is_fraction() const { return true; }
  /// Times the samples it is a number of samples.
  virtual bool counts_samples() const { return is_fraction() && sums() == 1; }
  /// Numbers that add() adds to.
  virtual int sums() const { return 1; }
  virtual void add(ConstTensor y, const Targets& targets, std::span<double> sums) const = 0;
  virtual double value(std::span<const double> sums, double samples) const { return sums[0] / samples; }
  /// Where the value is the area under the ROC curve and sums know scores only roughly: an evaluation
  /// collects them all.
  virtual bool requires_scores() const { return false; }
  virtual void collect(ConstTensor /*y*/, const Targets& /*targets*/, ClassScores& /*scores*/) const {}
  /// Where the sums tell more than a number can: the name of a square table, and its numbers row by row.
  virtual std::string table_name() const { return ""; }
  virtual std::vector<double> table(std::span<const double> /*sums*/) const { return {}; }
};

}  // namespace trainer
