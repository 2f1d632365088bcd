#pragma once

#include <span>
#include <string>
#include <vector>

#include "datasets/dataset.h"
#include "engine/config/registry.h"
#include "engine/core/tensor.h"
#include "models/losses/link.h"

namespace trainer {

struct ScoringProgram;

/// Scores of the samples of one class, and of all other samples.
struct ClassScores {
  std::vector<float> own, others;
};

/// A measure of outputs. add() accumulates sums over batches and ranks; value() computes the metric from them
/// at the end, so it is exact over any partition of the samples.
class Metric {
 public:
  static constexpr const char* kFamily = "metric";
  virtual ~Metric() = default;

  /// For outputs of this shape (one sample) and so many classes (0: target values). Error(usage) if they do
  /// not fit.
  virtual void setup(const Shape& output, int classes) = 0;
  /// The link of the run's loss, for metrics that compare predictions with target values.
  virtual void use_link(Link /*link*/) {}
  /// "accuracy", "top_5": the column's name in results.csv; unique in a run.
  virtual std::string name() const = 0;
  /// "acc", for the terminal.
  virtual std::string short_name() const { return name(); }
  virtual bool higher_is_better() const { return true; }
  /// True if it is shown in percent.
  virtual bool is_fraction() const { return true; }
  /// True if value times samples is a count of samples.
  virtual bool counts_samples() const { return is_fraction() && sums() == 1; }
  /// The length of the sums.
  virtual int sums() const { return 1; }
  virtual void add(ConstTensor y, const Targets& targets, std::span<double> sums) const = 0;
  virtual double value(std::span<const double> sums, double samples) const { return sums[0] / samples; }
  /// True if the value is the area under the ROC curve, whose sums are approximate: an evaluation collects
  /// all scores instead.
  virtual bool requires_scores() const { return false; }
  virtual void collect(ConstTensor /*y*/, const Targets& /*targets*/, ClassScores& /*scores*/) const {}
  /// The program that gives the value in evaluations while a run trains; null for all other metrics.
  virtual const ScoringProgram* program() const { return nullptr; }
  /// A square table that the sums hold, row by row, and its name; none if the name is empty.
  virtual std::string table_name() const { return ""; }
  virtual std::vector<double> table(std::span<const double> /*sums*/) const { return {}; }
};

}  // namespace trainer
