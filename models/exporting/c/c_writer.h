#pragma once

#include <string>

#include "models/exporting/model_notes.h"
#include "models/graph/graph.h"

namespace trainer {

/// A C99 file with the weights and `void predict(const float *input, float *output)` for one sample, which
/// includes <math.h> alone. Error(usage) names the layer of an operator that has no C function.
std::string c_file(const Graph& graph, const ModelNotes& notes);

}  // namespace trainer
