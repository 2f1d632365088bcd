// In the place of onnx_writer.cpp in a build without libonnx.
#include "engine/core/error.h"
#include "models/exporting/onnx/onnx_writer.h"

namespace trainer {

std::string onnx_version() { return "not built in"; }

std::string onnx_file(const Graph&, const ModelNotes&) {
  throw Error(ExitCode::usage, "this trainer was built without ONNX",
              "install libonnx-dev and build again with -Donnx=enabled");
}

}  // namespace trainer
