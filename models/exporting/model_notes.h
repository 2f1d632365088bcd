#pragma once

#include <string>
#include <vector>

namespace trainer {

/// What a person who uses an exported model reads in it.
struct ModelNotes {
  std::string name;                  ///< of the run and its checkpoint: "mnist-small, step-469"
  std::string input, output;         ///< "image 1x28x28 (channels, height, width), values in [0, 1]"
  std::vector<std::string> classes;  ///< names in the order of the outputs; empty if they have none
};

}  // namespace trainer
