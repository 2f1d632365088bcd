#pragma once

#include <cstdint>

namespace trainer {

// Batch normalisation on (rows, channels), rows being all positions of all samples a worker holds
// (Ioffe and Szegedy 2015, algorithms 1 and 2). Sums are doubles so that they can be added over workers and
// ranks.

/// sums[c] = sum of x[:, c]; squares[c] = sum of x[:, c]^2, over `rows` rows. Distances to the first row are
/// rounded to float, so the variance has a relative error of 2^-23 sqrt(rows + 1) at most, whatever the first
/// row is: one far from the mean makes the variance large itself. Measured: 2e-7 where it is up to 1e3
/// deviations of the others away, 3e-6 for 1e6 among a million rows.
void channel_moments(std::int64_t rows, std::int64_t channels, const float* x, double* sums, double* squares);
/// Of `count` floats with these moments, at least 0. The error is a few 2^-53 squares / count: less than what
/// rounding the floats does, unless the variance is nearly 0.
double variance_of(double sum, double squares, double count);

/// y = x * scale[c] + shift[c]
void channel_affine(std::int64_t rows, std::int64_t channels, const float* x, const float* scale,
                    const float* shift, float* y);

/// dy_sums[c] = sum of dy[:, c]; dot_sums[c] = sum of dy[:, c] (x[:, c] - mean[c])
void batch_norm_backward_sums(std::int64_t rows, std::int64_t channels, const float* x, const float* dy,
                              const float* mean, double* dy_sums, double* dot_sums);

/// dx = a[c] dy + b[c] (x - mean[c]) + d[c]; dx may be dy
void batch_norm_backward(std::int64_t rows, std::int64_t channels, const float* x, const float* dy,
                         const float* mean, const float* a, const float* b, const float* d, float* dx);

// Layer normalisation (Ba et al. 2016): each row of (rows, columns) brought to mean 0 and variance 1, then
// scaled and shifted; bias may be null. Where `mean` is null, RMS normalisation (Zhang and Sennrich 2019):
// the mean counts as 0 and stays.

void layer_norm(std::int64_t rows, std::int64_t columns, const float* x, const float* weight,
                const float* bias, float epsilon, float* y, float* mean, float* inverse_deviation);
/// dbias may be null
void layer_norm_gradients(std::int64_t rows, std::int64_t columns, const float* x, const float* dy,
                          const float* mean, const float* inverse_deviation, float* dweight, float* dbias);
/// dx may be dy
void layer_norm_backward(std::int64_t rows, std::int64_t columns, const float* x, const float* dy,
                         const float* mean, const float* inverse_deviation, const float* weight, float* dx);

}  // namespace trainer
