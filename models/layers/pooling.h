#pragma once

#include <vector>

#include "engine/config/setting.h"
#include "engine/math/pooling.h"
#include "models/graph/graph.h"
#include "models/layers/layer.h"

namespace trainer {

/// The keys that layers with a sliding window share: size, stride, pad.
std::vector<Setting> pooling_settings();

/// The windows of such a layer over a map; fails where they do not fit.
PoolingGeometry pooling_geometry(const Config& config, const Plan& plan, const Shape& sample);

/// (H', W', C)
Shape pooled_shape(const PoolingGeometry& geometry);

/// Of MaxPool and AveragePool.
Attributes pooling_attributes(const PoolingGeometry& geometry);

}  // namespace trainer
