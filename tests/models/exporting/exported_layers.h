#pragma once

#include <map>
#include <string>
#include <vector>

#include "models/exporting/network_graph.h"
#include "tests/models/layers/layer_examples.h"
#include "tests/support/layer_harness.h"

namespace trainer {

/// The examples of tests/models/layers, and forms of layers that only an export distinguishes.
const std::multimap<std::string, LayerExample>& export_examples();

/// Layers with random parameters and running statistics, their graph, and what forward computes in
/// evaluation. Maps are (C, H, W), as in files.
struct ExportedLayers {
  explicit ExportedLayers(const LayerExample& example, const GraphEnds& ends = {});

  LayerHarness harness;
  Graph graph;
  std::vector<float> x, y;  ///< of kRows samples
  static constexpr std::int64_t kRows = 2;
};

/// Samples in the layout of memory as they lie in files.
std::vector<float> to_channels_first(const std::vector<float>& samples, const Shape& sample);

}  // namespace trainer
