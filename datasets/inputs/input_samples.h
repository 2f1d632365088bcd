#pragma once

#include <memory>
#include <string>
#include <vector>

#include "datasets/inputs/raw_sample.h"
#include "datasets/loading/data_description.h"

namespace trainer {

/// What a user chooses of inputs that hold several things.
struct InputChoice {
  std::string id{};     ///< column of tables, by name or number from 1, whose fields are kept; empty: none
  std::string array{};  ///< of archives; empty: that of training, or the only one
};

/// True if text among the inputs is a table.
bool takes_tables(const DataDescription& data);

/// The samples of all that a user names, in that order: files, folders of images, "-" for standard input. The
/// content of a file decides its format: PNG, JPEG and WebP images, .npy and .npz arrays, HDF5; else text,
/// which is one sample a line for a model of texts, a list of names for a model of images, and a table for
/// others. `data` outlives it.
std::unique_ptr<SampleSource> input_samples(std::vector<std::string> names, const DataDescription& data,
                                            InputChoice choice);

}  // namespace trainer
