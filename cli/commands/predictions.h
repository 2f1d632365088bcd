#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cli/terminal/arguments.h"
#include "models/prediction/predictor.h"

namespace trainer {

/// The output of `trainer predict`, as it comes.
class PredictionWriter {
 public:
  struct Options {
    PredictionFormat format = PredictionFormat::best;
    int top = 0;  ///< the likeliest classes or labels alone; 0: all, but three classes in `best`
    /// A label is present if its probability is above it; 0.5 if absent.
    std::optional<double> threshold = {};
    bool has_ids = false;  ///< predictions have ids
  };
  /// Error(usage) if the likeliest classes are asked for and there are no classes, or a threshold and there
  /// are no labels.
  PredictionWriter(AnswerForm form, const Options& options);

  /// The text of some predictions without problems. Error(usage) if a table would mix samples that are files
  /// with samples that are lines or rows.
  std::string text(std::span<const Prediction> predictions);
  /// What follows the last one.
  std::string end() const;

 private:
  bool classifies() const { return form_.link == Link::softmax; }
  /// Whether the answer is a probability for each of several labels with names.
  bool labels() const { return form_.link == Link::sigmoid && !form_.names.empty() && !form_.has_positions; }
  std::string header();
  std::string best(const Prediction& prediction);
  std::string json(const Prediction& prediction) const;
  std::string csv(const Prediction& prediction) const;
  std::string name(std::size_t k) const;
  std::size_t shown(std::size_t fallback) const;
  /// The likeliest `count` values of an answer, the likeliest first.
  std::vector<std::size_t> likeliest(std::span<const float> answer, std::size_t count) const;
  /// The labels that are present, the likeliest first.
  std::vector<std::size_t> labels_of(std::span<const float> answer) const;
  /// The likeliest class of each position.
  std::vector<std::size_t> classes_of(const Prediction& prediction) const;

  AnswerForm form_;
  Options options_;
  bool begun_ = false;
  RawSample::Unit unit_ = RawSample::Unit::file;  ///< of all samples of a table
  std::vector<std::size_t> widths_;               ///< of columns for people
  std::vector<float> values_;                     ///< of npy
  std::int64_t count_ = 0;
};

}  // namespace trainer
