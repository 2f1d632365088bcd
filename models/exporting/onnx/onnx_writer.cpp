#include "models/exporting/onnx/onnx_writer.h"

#include "engine/core/error.h"
#include "engine/system/module.h"
#include "models/exporting/onnx/onnx_functions.h"

namespace trainer {
namespace {

const OnnxFunctions& functions() {
  static const auto* const kFunctions = reinterpret_cast<decltype(&trainer_onnx_functions)>(
      module_function("libtrainer-onnx.so", "trainer_onnx_functions"))();
  return *kFunctions;
}

}  // namespace

std::string onnx_version() {
  try {
    return functions().version();
  } catch (const Error& error) {
    return error.what();
  }
}

std::string onnx_file(const Graph& graph, const ModelNotes& notes) { return functions().write(graph, notes); }

}  // namespace trainer
