#pragma once

#include <span>

#include "datasets/dataset.h"
#include "models/layers/parameter.h"

namespace trainer {

/// True if `init: whitening` gives a parameter its values, which follow from training images.
bool is_whitened(const Parameter& parameter);
/// Error(usage) if such a parameter is not the kernel of a first convolution of images of a shape, or has too
/// many filters.
void check_whitening(const Parameter& parameter, const Shape& sample);
/// Fills a kernel that check_whitening() accepts, so that its outputs have covariance 1: the eigenvectors
/// of the covariance of all patches of the first 5,000 images (of large images fewer), each divided by the
/// root of its eigenvalue, the largest ones first; then the same with the other sign (Jordan 2024,
/// arXiv:2404.00498, section 3.2). The same bits on all ranks.
void whiten(const Parameter& parameter, const Dataset& images, std::span<float> kernel);

}  // namespace trainer
