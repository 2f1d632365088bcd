#pragma once

#include <memory>
#include <string>

#include "datasets/inputs/input_text.h"
#include "datasets/inputs/raw_sample.h"
#include "datasets/loading/data_description.h"

namespace trainer {

/// Each line of a text is a sample.
std::unique_ptr<SampleSource> line_samples(InputText text);

/// Each record of a table is a sample; `id` as in TableRows.
std::unique_ptr<SampleSource> table_samples(InputText text, const DataDescription& data,
                                            const std::string& id);

/// Each line names an image.
std::unique_ptr<SampleSource> named_images(InputText names);

/// Reads an image file into `sample`; its problem if it cannot be read.
void read_image(const std::string& path, RawSample& sample);

/// What is wrong with a sample, in one line: "a.csv:3: column 2 requires a number, got `x` (...)".
std::string problem_text(const Error& error);

}  // namespace trainer
