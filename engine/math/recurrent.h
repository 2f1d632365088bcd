#pragma once

#include <cstdint>

namespace trainer {

// One time step of recurrent layers, for some rows (samples) of `units` each; the products with weights are
// done before. An array with a step has its rows so far apart, all others have them one behind the other.

/// `gates` (rows, 4 units) holds i, f, g, o (Hochreiter and Schmidhuber 1997, Gers et al. 2000), which come
/// out with `bias` added and after their functions: c = f c_before + i g, h = o tanh(c).
void lstm_step(std::int64_t rows, std::int64_t units, const float* bias, const float* c_before, float* gates,
               float* c, float* tanh_c, float* h, std::int64_t h_step);
/// From dh and the results of lstm_step: `gates` become the gradients before the gate functions. `dc` is the
/// gradient of c from later steps, and becomes that of c_before.
void lstm_step_backward(std::int64_t rows, std::int64_t units, const float* dh, std::int64_t dh_step,
                        const float* c_before, const float* tanh_c, float* dc, float* gates);

/// `gates` (rows, 3 units) holds x W for r, z, n, `recurrent` holds h_before U (Cho et al. 2014, in PyTorch's
/// form): h = (1 - z) n + z h_before, n = tanh(input + r recurrent). On return `gates` holds r, z, n, and the
/// n columns of `recurrent` include their bias.
void gru_step(std::int64_t rows, std::int64_t units, const float* bias, const float* recurrent_bias,
              const float* h_before, std::int64_t h_before_step, float* gates, float* recurrent, float* h,
              std::int64_t h_step);
/// From dh and the results of gru_step: `gates` and `recurrent` become the gradients of their inputs to it;
/// the gradient through z is added to dh_before, which may be null.
void gru_step_backward(std::int64_t rows, std::int64_t units, const float* dh, std::int64_t dh_step,
                       const float* h_before, std::int64_t h_before_step, float* gates, float* recurrent,
                       float* dh_before, std::int64_t dh_before_step);

}  // namespace trainer
