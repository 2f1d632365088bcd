// Steps of recurrent layers: all gates of a unit in one pass; see elementwise.cpp about their bits.

#include "engine/math/kernels/exponential.h"
#include "engine/math/kernels/kernels.h"
#include "engine/math/kernels/loops.h"

namespace trainer::KERNEL_NAMESPACE {
namespace {

void lstm_step(std::int64_t rows, std::int64_t units, const float* bias, const float* c_before, float* gates,
               float* c, float* tanh_c, float* h, std::int64_t h_step) {
  const float *const bias_f = bias + units, *const bias_g = bias_f + units, *const bias_o = bias_g + units;
  for (std::int64_t row = 0; row < rows; ++row) {
    float* const i = gates + row * 4 * units;
    float *const f = i + units, *const g = f + units, *const o = g + units;
    const float* const before = c_before + row * units;
    float *const now = c + row * units, *const tanh_now = tanh_c + row * units, *const out = h + row * h_step;
    for_each(units, [=](std::int64_t u) {
      const float input = sigmoid(i[u] + bias[u]), forget = sigmoid(f[u] + bias_f[u]);
      const float candidate = hyperbolic_tangent(g[u] + bias_g[u]), output = sigmoid(o[u] + bias_o[u]);
      i[u] = input;
      f[u] = forget;
      g[u] = candidate;
      o[u] = output;
      now[u] = forget * before[u] + input * candidate;
    });
    // Apart, so that the processor, which overlaps a fixed number of instructions, does not wait for one
    // after the other.
    for_each(units, [=](std::int64_t u) {
      tanh_now[u] = hyperbolic_tangent(now[u]);
      out[u] = o[u] * tanh_now[u];
    });
  }
}

void lstm_step_backward(std::int64_t rows, std::int64_t units, const float* dh, std::int64_t dh_step,
                        const float* c_before, const float* tanh_c, float* dc, float* gates) {
  for (std::int64_t row = 0; row < rows; ++row) {
    float* const i = gates + row * 4 * units;
    float *const f = i + units, *const g = f + units, *const o = g + units;
    const float *const before = c_before + row * units, *const tanh_now = tanh_c + row * units;
    const float* const gradient = dh + row * dh_step;
    float* const carried = dc + row * units;
    for_each(units, [=](std::int64_t u) {
      const float input = i[u], forget = f[u], candidate = g[u], output = o[u];
      const float cell = carried[u] + gradient[u] * output * (1.0f - tanh_now[u] * tanh_now[u]);
      i[u] = cell * candidate * (input * (1.0f - input));
      f[u] = cell * before[u] * (forget * (1.0f - forget));
      g[u] = cell * input * (1.0f - candidate * candidate);
      o[u] = gradient[u] * tanh_now[u] * (output * (1.0f - output));
      carried[u] = cell * forget;
    });
  }
}

void gru_step(std::int64_t rows, std::int64_t units, const float* bias, const float* recurrent_bias,
              const float* h_before, std::int64_t h_before_step, float* gates, float* recurrent, float* h,
              std::int64_t h_step) {
  const float *const bias_z = bias + units, *const bias_n = bias_z + units;
  const float *const other_z = recurrent_bias + units, *const other_n = other_z + units;
  for (std::int64_t row = 0; row < rows; ++row) {
    float* const r = gates + row * 3 * units;
    float *const z = r + units, *const n = z + units;
    const float* const from_r = recurrent + row * 3 * units;
    const float* const from_z = from_r + units;
    float* const from_n = recurrent + row * 3 * units + 2 * units;
    const float* const before = h_before + row * h_before_step;
    float* const out = h + row * h_step;
    for_each(units, [=](std::int64_t u) {
      const float reset = sigmoid((r[u] + bias[u]) + (from_r[u] + recurrent_bias[u]));
      const float update = sigmoid((z[u] + bias_z[u]) + (from_z[u] + other_z[u]));
      const float remembered = from_n[u] + other_n[u];
      const float candidate = hyperbolic_tangent((n[u] + bias_n[u]) + reset * remembered);
      r[u] = reset;
      z[u] = update;
      n[u] = candidate;
      from_n[u] = remembered;
      out[u] = (1.0f - update) * candidate + update * before[u];
    });
  }
}

void gru_step_backward(std::int64_t rows, std::int64_t units, const float* dh, std::int64_t dh_step,
                       const float* h_before, std::int64_t h_before_step, float* gates, float* recurrent,
                       float* dh_before, std::int64_t dh_before_step) {
  for (std::int64_t row = 0; row < rows; ++row) {
    float* const r = gates + row * 3 * units;
    float *const z = r + units, *const n = z + units;
    float* const to_r = recurrent + row * 3 * units;
    float *const to_z = to_r + units, *const to_n = to_z + units;
    const float* const before = h_before + row * h_before_step;
    const float* const gradient = dh + row * dh_step;
    if (dh_before) {
      float* const passed = dh_before + row * dh_before_step;
      for_each(units, [=](std::int64_t u) { passed[u] += gradient[u] * z[u]; });
    }
    for_each(units, [=](std::int64_t u) {
      const float reset = r[u], update = z[u], candidate = n[u];
      const float of_n = gradient[u] * (1.0f - update) * (1.0f - candidate * candidate);
      const float of_z = gradient[u] * (before[u] - candidate) * (update * (1.0f - update));
      const float of_r = of_n * to_n[u] * (reset * (1.0f - reset));
      r[u] = to_r[u] = of_r;
      z[u] = to_z[u] = of_z;
      n[u] = of_n;
      to_n[u] = of_n * reset;
    });
  }
}

}  // namespace

extern const RecurrentKernels recurrent_kernels;
const RecurrentKernels recurrent_kernels = {lstm_step, lstm_step_backward, gru_step, gru_step_backward};

}  // namespace trainer::KERNEL_NAMESPACE
