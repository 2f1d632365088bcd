#pragma once

#include <span>
#include <string>
#include <vector>

#include "cli/terminal/arguments.h"

namespace trainer {

/// The outputs of a model for files.
struct Predictions {
  const std::vector<std::string>& files;
  std::vector<float> outputs;        ///< [file][output]
  std::vector<std::string> classes;  ///< names; empty if they have none
  bool are_scores = false;           ///< logits: their softmax is the probability of each class
};

/// The output of `trainer predict`.
std::string predictions_text(Predictions predictions, PredictionFormat format);

}  // namespace trainer
