#pragma once

#include <cstdint>
#include <span>

namespace trainer {

/// Replaces a row-major matrix G = U S V' by about U V': `iterations` steps of X <- a X + (b A + c A A) X
/// with A = X X' from X = G / |G| on, the Newton-Schulz iteration of Muon (Jordan et al. 2024,
/// kellerjordan.github.io/posts/muon). Five steps bring singular values between 0.01 and 1 to about 0.7 to
/// 1.2. A matrix of zeros stays. `scratch`: orthogonalize_scratch() floats. The bits depend on the matrix
/// alone.
void orthogonalize(std::int64_t rows, std::int64_t columns, int iterations, float* matrix,
                   std::span<float> scratch);
std::int64_t orthogonalize_scratch(std::int64_t rows, std::int64_t columns);

}  // namespace trainer
