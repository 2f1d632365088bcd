#pragma once

#include <span>
#include <string>
#include <vector>

#include "cli/terminal/arguments.h"

namespace trainer {

/// What a model gives for files.
struct Predictions {
  const std::vector<std::string>& files;
  std::vector<float> outputs;        ///< of one file after the other, as many of each
  std::vector<std::string> classes;  ///< names, by number; empty where they have none
  bool are_scores = false;           ///< whose softmax is the probability of each class
};

/// All of them as `trainer predict` prints them.
std::string predictions_text(Predictions predictions, PredictionFormat format);

}  // namespace trainer
