#pragma once

#include <memory>
#include <span>

#include "datasets/dataset.h"
#include "datasets/tar/tar_shards.h"

namespace trainer {

/// Samples of shards that hold an array (.npy) for each. `info` has all but the shape of samples.
std::unique_ptr<Dataset> tar_arrays(DatasetInfo info, std::shared_ptr<const TarShards> shards, bool streamed);

/// The shape of the values of each sample (.target.npy), by the first one.
Shape target_shape(const TarShards& shards);

/// Reads the values of a sample. Error(data) if they have another shape.
void read_target_array(const TarShards& shards, std::int64_t index, const Shape& expected,
                       std::span<float> values);

}  // namespace trainer
