#pragma once

#include <memory>
#include <string>

#include "datasets/inputs/raw_sample.h"
#include "datasets/loading/data_description.h"

namespace trainer {

/// The rows of an array in .npy format, plain or gzipped. `name` stands for the path in messages.
std::unique_ptr<SampleSource> npy_samples(const std::string& path, const std::string& name,
                                          const DataDescription& data);

/// The rows of an array of an archive: `array`, or if that is empty that of training or the only one.
std::unique_ptr<SampleSource> npz_samples(const std::string& path, const std::string& name,
                                          const DataDescription& data, const std::string& array);

/// The rows of a dataset of an HDF5 file, chosen likewise.
std::unique_ptr<SampleSource> hdf5_samples(const std::string& path, const std::string& name,
                                           const DataDescription& data, const std::string& array);

}  // namespace trainer
