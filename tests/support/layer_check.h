#pragma once

#include "tests/support/layer_harness.h"

namespace trainer {

/// The largest difference between two lists, relative to the largest magnitude of `expected` (to 1 when all
/// are zero). NaN, or lists of different length, give NaN.
double relative_difference(std::span<const float> values, std::span<const float> expected);

/// Compares backward with finite differences of forward in training mode, for the input and every parameter
/// but those beside an adapter; the loss is a random linear function of the output. Layers are YAML:
/// check_gradients("dense: 4", {2, 3}). `x`: the input where not any will do, such as tokens; it is then held
/// fast. Let relu and max_pool see the input itself, whose numbers keep away from their kinks, and no bias be
/// without effect.
void check_gradients(const std::string& layers, const Shape& sample,
                     const LayerHarness::Options& options = {}, const std::vector<float>& x = {});

/// Checks that in exact mode the outputs, the gradients of the input and of every parameter and the states
/// have the same bits with any distribution of the virtual workers to workers, some of them empty.
/// `vocabulary`: the input is tokens of so many kinds; 0: any numbers.
void check_exactness(const std::string& layers, const Shape& sample, int vocabulary = 0);

/// Checks that these layers give what they give with activations in float32, within the precision of
/// bfloat16, where the network stores them in it; the same bits however many workers there are.
void check_stored_activations(const std::string& layers, const Shape& sample, int vocabulary = 0);

}  // namespace trainer
