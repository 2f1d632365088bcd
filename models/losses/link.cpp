#include "models/losses/link.h"

#include <algorithm>

#include "engine/core/elementary.h"

namespace trainer {

RowPredictions::RowPredictions(Link link, std::span<const float> outputs) : link_(link), outputs_(outputs) {
  if (link_ != Link::softmax) return;
  largest_ = static_cast<double>(*std::ranges::max_element(outputs));
  sum_ = 0;
  for (const float output : outputs) sum_ += elementary::exp(static_cast<double>(output) - largest_);
}

double RowPredictions::operator[](std::size_t k) const {
  const auto output = static_cast<double>(outputs_[k]);
  switch (link_) {
    case Link::sigmoid:
      return 1 / (1 + elementary::exp(-output));
    case Link::softmax:
      return elementary::exp(output - largest_) / sum_;
    default:
      return output;
  }
}

}  // namespace trainer
