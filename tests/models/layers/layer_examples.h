#pragma once

#include <map>
#include <string>

#include "engine/core/shape.h"

namespace trainer {

/// Layers as YAML for an input of this shape.
struct LayerExample {
  const char* layers;
  Shape sample;
  int vocabulary = 0;  ///< the input is tokens
};

/// At least one for each registered layer, by its name; a new one needs a line here. Each is tested for equal
/// bits on any placement (exactness_test.cpp) and for what its exports compute (tests/models/exporting).
inline const std::multimap<std::string, LayerExample> kLayerExamples{
    {"attention", {"attention: {heads: 2, causal: true}", {70, 8}}},
    {"attention", {"attention: {heads: 1, rotary: true, bias: false}", {5, 6}}},
    {"attention",
     {"attention: {heads: 4, kv_heads: 2, causal: true, rotary: true, rotary_base: 50}", {40, 8}}},
    {"attention", {"attention: {heads: 2, causal: true, lora: {rank: 3, alpha: 5}}", {9, 8}}},
    {"avg_pool", {"avg_pool: {size: 3, stride: 2, pad: 1}", {7, 6, 3}}},
    {"batch_norm", {"batch_norm", {5, 4, 6}}},
    {"batch_norm", {"dense: 20, batch_norm, relu", {33}}},
    {"concat",
     {"concat: [[conv: {filters: 3, kernel: 1}, batch_norm], [conv: {filters: 5, kernel: 3, pad: same}]]",
      {6, 6, 4}}},
    {"conv", {"conv: {filters: 20, kernel: 5}", {12, 12, 3}}},
    {"conv", {"conv: {filters: 16, kernel: 3, stride: 2, pad: 1, activation: relu}", {9, 9, 16}}},
    {"conv", {"conv: {filters: 6, kernel: 3, groups: 6, pad: 1}", {6, 7, 6}}},
    {"conv", {"conv: {filters: 70, kernel: 1}", {3, 3, 130}}},
    {"conv", {"conv: {filters: 10, kernel: 3, dilation: 2, groups: 2}", {8, 8, 6}}},
    {"dense", {"dense: 10", {100}}},
    {"dense", {"dense: {units: 70, activation: tanh}, dense: {units: 33, activation: sigmoid}", {130}}},
    {"dense", {"dense: 5", {3, 40}}},
    {"dense",
     {"dense: {units: 20, activation: tanh, lora: {rank: 3}}, dense: {units: 7, lora: {}}", {5, 33}}},
    {"dropout", {"dense: 40, dropout: 0.3, relu", {10}}},
    {"embedding",
     {"embedding: {units: 20, vocabulary: 7, positions: learned, name: tokens}, tanh, dense: {units: 7, tie: "
      "tokens}",
      {9},
      7}},
    {"flatten", {"flatten, dense: 9", {3, 4, 5}}},
    {"global_avg_pool", {"global_avg_pool", {5, 7, 6}}},
    {"gelu", {"dense: {units: 20, activation: gelu}, gelu", {21}}},
    {"gelu_tanh", {"dense: {units: 20, activation: gelu_tanh}, gelu_tanh", {21}}},
    {"gru", {"gru: {units: 20, layers: 2, bidirectional: true}", {6, 5}}},
    {"layer_norm", {"layer_norm", {5, 40}}},
    {"hardswish", {"dense: {units: 20, activation: hardswish}, hardswish", {21}}},
    {"leaky_relu", {"leaky_relu: 0.1", {21}}},
    {"lstm", {"lstm: {units: 20, layers: 2, bidirectional: true}", {6, 5}}},
    {"lstm", {"lstm: {units: 33, output: last}", {4, 18}}},
    {"lstm", {"lstm: {units: 7, layers: 2, keep_state: true}", {4, 3}}},
    {"max_pool", {"max_pool: {size: 3, stride: 2, pad: 1}", {7, 6, 3}}},
    {"multiply", {"multiply: [[dense: {units: 37, activation: silu}], [dense: 37]], dense: 5", {3, 21}}},
    {"rbm", {"rbm: {units: 37, steps: 2}, rbm: 20, reconstruct: rbm2, reconstruct: rbm1", {33}}},
    {"reconstruct", {"rbm: {units: 37, learn: backprop}, reconstruct: rbm1", {33}}},
    {"relu", {"relu", {21}}},
    {"residual",
     {"residual: {body: [conv: {filters: 8, kernel: 3, stride: 2, pad: 1}, batch_norm, relu], shortcut: "
      "conv}",
      {8, 8, 4}}},
    {"residual",
     {"residual: {body: [conv: {filters: 8, kernel: 3, stride: 2, pad: 1}, batch_norm, relu], shortcut: pad}",
      {8, 8, 4}}},
    {"recompute",
     {"recompute: [conv: {filters: 8, kernel: 3, pad: 1}, batch_norm, relu, dropout: 0.3], recompute: "
      "[dense: "
      "7]",
      {8, 8, 4}}},
    {"rms_norm", {"rms_norm", {5, 40}}},
    {"rnn", {"rnn: {units: 20, truncate: 2}", {6, 5}}},
    {"sigmoid", {"sigmoid", {21}}},
    {"softmax", {"softmax", {3, 2, 21}}},
    {"tanh", {"tanh", {21}}},
    {"adaptive_avg_pool", {"adaptive_avg_pool: [3, 2]", {7, 5, 6}}},
    {"conv1d", {"conv1d: {filters: 10, kernel: 3, pad: same}", {20, 6}}},
    {"conv_transpose", {"conv_transpose: {filters: 6, kernel: 3, stride: 2}", {5, 4, 8}}},
    {"elu", {"elu: 0.5", {21}}},
    {"relu6", {"dense: {units: 20, activation: relu6}, relu6", {21}}},
    {"group_norm", {"group_norm: 2", {5, 4, 6}}},
    {"l2_pool", {"l2_pool: 2", {6, 6, 3}}},
    {"local_contrast_norm", {"local_contrast_norm: 3", {6, 5, 3}}},
    {"local_response_norm", {"local_response_norm: 5", {4, 4, 21}}},
    {"permute", {"dense: 5, permute: [2, 1]", {7, 3}}},
    {"positions", {"dense: 5, positions", {7, 3}}},
    {"prelu", {"prelu", {4, 3, 5}}},
    {"prelu", {"prelu: {shared: true}", {21}}},
    {"reshape", {"dense: 24, reshape: [2, 3, 4]", {7}}},
    {"residual", {"residual: {body: [dense: 12, tanh], drop: 0.5}", {12}}},
    {"silu", {"silu", {21}}},
    {"softplus", {"dense: {units: 20, activation: softplus}, softplus", {21}}},
    {"upsample", {"upsample: {factor: 2, mode: bilinear}", {4, 3, 5}}},
};

}  // namespace trainer
