#pragma once

#include <string>

#include "models/exporting/model_notes.h"
#include "models/graph/graph.h"

namespace trainer {

/// "libonnx 1.12.0: IR 8, opset 17", "not built in", or why it cannot be loaded.
std::string onnx_version();

/// An ONNX model (IR version 8, operator set 17) that ONNX's checker and its shape inference have accepted;
/// class names are in its metadata as `classes`. Error(usage) from 2 GiB on, or if this program was built
/// without libonnx; Error(failure) if libonnx cannot be loaded.
std::string onnx_file(const Graph& graph, const ModelNotes& notes);

}  // namespace trainer
