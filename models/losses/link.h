#pragma once

#include <cstddef>
#include <span>

namespace trainer {

/// How a loss reads outputs: the function from outputs to predictions, the inverse link function of
/// generalised linear models (Nelder and Wedderburn 1972).
enum class Link { identity, sigmoid, softmax };

/// The predictions of one sample. A NaN among the outputs of a softmax makes all of them NaN.
class RowPredictions {
 public:
  RowPredictions(Link link, std::span<const float> outputs);
  double operator[](std::size_t k) const;

 private:
  Link link_;
  std::span<const float> outputs_;
  double largest_ = 0, sum_ = 1;  ///< softmax: the largest output; the sum of exp(output - largest)
};

}  // namespace trainer
