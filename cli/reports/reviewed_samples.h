#pragma once

#include <string>

#include "models/training/review.h"

namespace trainer {

/// Of a run directory.
inline constexpr const char* kSamplesFile = "samples.json";

/// The reviewed samples of the split that selects the best weights, as JSON: `worst` and `spread`, each
/// with what the network gives and the sample itself: an image, the fields of a table's row, or a text.
/// Reads the samples. Not for a run without such a split.
std::string samples_json(const Session& session, const Review& review);

/// That text, of a file that is not trusted, as HTML; empty if it is none.
std::string samples_html(const std::string& json);

}  // namespace trainer
