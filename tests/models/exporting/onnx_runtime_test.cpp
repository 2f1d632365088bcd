// Runs exported layers in programs that are not part of this project. Each case is a Meson test of its own.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "models/exporting/onnx/onnx_writer.h"
#include "tests/models/exporting/exported_layers.h"
#include "tests/support/program.h"
#include "tests/support/skip.h"
#include "tests/support/small_data.h"
#include "tests/support/temporary_folder.h"

namespace trainer {
namespace {

std::string bytes_of(const std::vector<float>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}

}  // namespace

TEST_CASE("every layer computes the same in ONNX Runtime", "[onnx-runtime]") {
  if (onnx_version() == "not built in") skip_test("built without ONNX");
  const char* const packages = std::getenv("ONNX_RUNTIME");
  if (packages == nullptr || *packages == '\0')
    skip_test("no folder with node_modules/onnxruntime-node: -Donnxruntime=FOLDER");
  const TemporaryFolder folder;
  nlohmann::json models;
  for (const auto& [name, example] : export_examples()) {
    const ExportedLayers layers(example);
    const std::string file = std::to_string(models.size());
    write_text(folder.path() / (file + ".onnx"), onnx_file(layers.graph, {.name = name}));
    write_text(folder.path() / (file + ".x"), bytes_of(layers.x));
    write_text(folder.path() / (file + ".y"), bytes_of(layers.y));
    const GraphTensor& input = layers.graph.at(layers.graph.input);
    Extents extents = input.extents;
    extents[0] = ExportedLayers::kRows;
    models.push_back({{"file", file},
                      {"name", example.layers},
                      {"extents", extents},
                      {"tokens", input.type == ElementType::int64}});
  }
  write_text(folder.path() / "models.json", models.dump());
  const ProgramResult run =
      run_program({"/usr/bin/env", "node", ONNX_RUNTIME_SCRIPT, folder.path()},
                  {.environment = {{"NODE_PATH", std::string(packages) + "/node_modules"}}, .seconds = 200});
  INFO(run.out << run.err);
  CHECK(run.code == 0);
}

}  // namespace trainer
