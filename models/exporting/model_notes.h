#pragma once

#include <optional>
#include <string>
#include <vector>

namespace trainer {

/// An element of an input that has names: a column of a table, or a category of one.
struct InputNote {
  std::string name;             ///< "carat", "cut=Fair"
  std::optional<float> fill{};  ///< of a number: what stands for a missing value
};

/// What a person who uses an exported model reads in it.
struct ModelNotes {
  std::string name;                  ///< of the run and its checkpoint: "mnist-small, step-469"
  std::string input, output;         ///< "image 1x28x28 (channels, height, width), values in [0, 1]"
  std::vector<InputNote> inputs{};   ///< elements of a sample of a table; empty if they have no names
  std::vector<std::string> classes;  ///< names in the order of the outputs; empty if they have none
};

}  // namespace trainer
