#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "models/prediction/predictor.h"

namespace trainer {

/// Samples that a worker predicts together.
using SampleGroup = std::vector<RawSample>;

/// Groups of the samples that a source has next, at most `most`. A group is full but for the last one, which
/// ends where the source has no more yet: then a partial group comes last. None at the end. Waits for the
/// first sample.
std::vector<SampleGroup> next_groups(SampleSource& source, std::size_t most);

/// As bytes, for another rank of the same program, and back.
std::string packed(const std::vector<SampleGroup>& groups);
std::vector<SampleGroup> unpacked_groups(std::string_view bytes);
std::string packed(const std::vector<Prediction>& predictions);
std::vector<Prediction> unpacked_predictions(std::string_view bytes);

}  // namespace trainer
