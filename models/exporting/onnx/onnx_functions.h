#pragma once

#include <string>

#include "models/exporting/model_notes.h"
#include "models/graph/graph.h"

namespace trainer {

/// The functions of the module libtrainer-onnx.so, as onnx_writer.h declares them.
struct OnnxFunctions {
  std::string (*version)();
  std::string (*write)(const Graph& graph, const ModelNotes& notes);
};

}  // namespace trainer

extern "C" const trainer::OnnxFunctions* trainer_onnx_functions();
