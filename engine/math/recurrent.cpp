#include "engine/math/recurrent.h"

#include "engine/math/kernels/kernels.h"

namespace trainer {

void lstm_step(std::int64_t rows, std::int64_t units, const float* bias, const float* c_before, float* gates,
               float* c, float* tanh_c, float* h, std::int64_t h_step) {
  kernels().recurrent->lstm_step(rows, units, bias, c_before, gates, c, tanh_c, h, h_step);
}

void lstm_step_backward(std::int64_t rows, std::int64_t units, const float* dh, std::int64_t dh_step,
                        const float* c_before, const float* tanh_c, float* dc, float* gates) {
  kernels().recurrent->lstm_step_backward(rows, units, dh, dh_step, c_before, tanh_c, dc, gates);
}

void gru_step(std::int64_t rows, std::int64_t units, const float* bias, const float* recurrent_bias,
              const float* h_before, std::int64_t h_before_step, float* gates, float* recurrent, float* h,
              std::int64_t h_step) {
  kernels().recurrent->gru_step(rows, units, bias, recurrent_bias, h_before, h_before_step, gates, recurrent,
                                h, h_step);
}

void gru_step_backward(std::int64_t rows, std::int64_t units, const float* dh, std::int64_t dh_step,
                       const float* h_before, std::int64_t h_before_step, float* gates, float* recurrent,
                       float* dh_before, std::int64_t dh_before_step) {
  kernels().recurrent->gru_step_backward(rows, units, dh, dh_step, h_before, h_before_step, gates, recurrent,
                                         dh_before, dh_before_step);
}

}  // namespace trainer
