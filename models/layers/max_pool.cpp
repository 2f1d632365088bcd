#include "models/layers/max_pool.h"

#include <fmt/format.h>

#include "models/layers/conv.h"

namespace trainer {

MaxPool::MaxPool(const Config& config) : config_(config) {
  const ConvSettings::Extents size = extents_of(config, "size");
  positions_ = Shape{size.h, size.w}.size();
}

Shape MaxPool::setup(const Shape& sample, Plan& plan) {
  geometry_ = pooling_geometry(config_, plan, sample);
  if (positions_ > kMaxPositions)
    config_.fail("size", fmt::format("a window has at most {} positions", kMaxPositions));
  const Shape output = pooled_shape(geometry_);
  winners_ = plan.saved<std::uint8_t>(output.size());
  plan.backward_reads(false, false);
  return output;
}

void MaxPool::forward(ConstTensor x, Tensor y, Pass& pass) {
  max_pool(geometry_, pass.rows(), x.data(), y.data(),
           pass.training() ? pass.buffer(winners_).data() : nullptr, masks_relu_);
}

void MaxPool::backward(ConstTensor, ConstTensor, Tensor dy, Tensor dx, Pass& pass) {
  if (!dx.empty())
    max_pool_backward(geometry_, pass.rows(), dy.data(), pass.buffer(winners_).data(), dx.data());
}

namespace {

const Registry<Layer>::Add max_layer{{.name = "max_pool",
                                      .help = "the largest value of each window",
                                      .primary = "size",
                                      .settings = pooling_settings()},
                                     [](const Config& config) { return std::make_unique<MaxPool>(config); }};

}  // namespace
}  // namespace trainer
