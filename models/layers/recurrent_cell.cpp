#include "models/layers/recurrent_cell.h"

#include <algorithm>
#include <string>

#include "engine/math/elementwise.h"
#include "engine/math/recurrent.h"

namespace trainer {
namespace {

class RnnCell final : public Cell {
 public:
  explicit RnnCell(Activation activation) : activation_(activation) {}
  std::int64_t gates() const override { return 1; }
  CellOperation operation(std::int64_t directions) const override {
    const char* const name = activation_ == Activation::relu      ? "Relu"
                             : activation_ == Activation::sigmoid ? "Sigmoid"
                                                                  : "Tanh";
    return {
        "RNN", {0}, {{"activations", std::vector<std::string>(static_cast<std::size_t>(directions), name)}}};
  }
  void forward(const CellStep& step, float* h) const override {
    bias_activate(activation_, step.rows, step.units, step.gates, step.bias, step.gates);
    for (std::int64_t row = 0; row < step.rows; ++row)
      std::copy_n(step.gates + row * step.units, step.units, h + row * step.step);
  }
  void backward(const CellStep& step, const float* dh, float*, float*) const override {
    for (std::int64_t row = 0; row < step.rows; ++row) {
      float* const gates = step.gates + row * step.units;
      activate_backward(activation_, step.units, gates, dh + row * step.step, gates);
    }
  }

 private:
  Activation activation_;
};

class LstmCell final : public Cell {
 public:
  std::int64_t gates() const override { return 4; }
  CellOperation operation(std::int64_t) const override { return {"LSTM", {0, 3, 1, 2}}; }
  bool has_memory() const override { return true; }
  void forward(const CellStep& step, float* h) const override {
    lstm_step(step.rows, step.units, step.bias, step.cell_before, step.gates, step.cell, step.bent_cell, h,
              step.step);
  }
  void backward(const CellStep& step, const float* dh, float* dcell, float*) const override {
    lstm_step_backward(step.rows, step.units, dh, step.step, step.cell_before, step.bent_cell, dcell,
                       step.gates);
  }
};

class GruCell final : public Cell {
 public:
  std::int64_t gates() const override { return 3; }
  CellOperation operation(std::int64_t) const override {
    return {"GRU", {1, 0, 2}, {{"linear_before_reset", std::int64_t{1}}}};
  }
  bool keeps_recurrent_apart() const override { return true; }
  void forward(const CellStep& step, float* h) const override {
    gru_step(step.rows, step.units, step.bias, step.recurrent_bias, step.h_before, step.h_before_step,
             step.gates, step.recurrent, h, step.step);
  }
  void backward(const CellStep& step, const float* dh, float*, float* dh_before) const override {
    gru_step_backward(step.rows, step.units, dh, step.step, step.h_before, step.h_before_step, step.gates,
                      step.recurrent, dh_before, step.step);
  }
};

}  // namespace

std::unique_ptr<Cell> make_rnn_cell(Activation activation) { return std::make_unique<RnnCell>(activation); }
std::unique_ptr<Cell> make_lstm_cell() { return std::make_unique<LstmCell>(); }
std::unique_ptr<Cell> make_gru_cell() { return std::make_unique<GruCell>(); }

}  // namespace trainer
