#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/math/types/activation.h"
#include "models/graph/graph.h"

namespace trainer {

/// One time step of a cell for some rows, which lie `step` apart in h and dh.
struct CellStep {
  std::int64_t rows = 0, units = 0, step = 0;
  const float *bias = nullptr, *recurrent_bias = nullptr;
  float* gates = nullptr;      ///< (rows, gates units)
  float* recurrent = nullptr;  ///< the same, for cells that keep the recurrent product by itself
  float *cell = nullptr, *bent_cell = nullptr;  ///< (rows, units), for cells with a memory
  const float* cell_before = nullptr;
  const float* h_before = nullptr;
  std::int64_t h_before_step = 0;
};

/// A cell as an operator of ONNX.
struct CellOperation {
  const char* name;
  std::vector<std::int64_t> gates;  ///< the place, here, of each of its gates
  Attributes attributes = {};
};

/// How gates become outputs: formulas, names and order of gates as in PyTorch.
class Cell {
 public:
  virtual ~Cell() = default;
  virtual std::int64_t gates() const = 0;
  virtual bool has_memory() const { return false; }
  virtual bool keeps_recurrent_apart() const { return false; }
  virtual CellOperation operation(std::int64_t directions) const = 0;
  virtual void forward(const CellStep& step, float* h) const = 0;
  /// Gates become their gradients; `dcell` passes from step to step. Adds to dh_before unless it is null.
  virtual void backward(const CellStep& step, const float* dh, float* dcell, float* dh_before) const = 0;
};

/// h = f(x W + h U + b) (Elman 1990)
std::unique_ptr<Cell> make_rnn_cell(Activation activation);
/// Hochreiter and Schmidhuber 1997
std::unique_ptr<Cell> make_lstm_cell();
/// Cho et al. 2014
std::unique_ptr<Cell> make_gru_cell();

}  // namespace trainer
