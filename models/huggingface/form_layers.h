#pragma once

#include <string>
#include <vector>

#include "models/layers/sequence.h"

namespace trainer {

/// A parameter or state, in the layout of files, and the tensors of a Hugging Face directory that it is made
/// of.
struct TensorMatch {
  std::string here;
  std::vector<std::string> there;  ///< their rows lie one behind the other
  bool is_turned = false;          ///< a matrix there is (inputs, outputs): GPT-2's Conv1D
};

/// The sequences inside a layer; none if it holds no others.
std::vector<Sequence*> inner_sequences(const Sequence::Entry& entry);

/// The layers that compute something in evaluation, also inside recomputes, without those of a partition.
std::vector<const Sequence::Entry*> computing_layers(const Sequence& layers);

}  // namespace trainer
