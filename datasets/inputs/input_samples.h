#pragma once

#include <memory>
#include <string>
#include <vector>

#include "datasets/inputs/raw_sample.h"
#include "datasets/loading/data_description.h"

namespace trainer {

/// The samples of all that a user names, in that order: files, folders of images, "-" for standard input. The
/// content of a file decides its format: PNG and JPEG images, .npy and .npz arrays; else text, which is one
/// sample a line for a model of texts, a list of names for a model of images, and a table for others.
/// `data` outlives it; `id`: as in TableRows.
std::unique_ptr<SampleSource> input_samples(std::vector<std::string> names, const DataDescription& data,
                                            std::string id);

}  // namespace trainer
