#pragma once

#include <string>
#include <string_view>

#include "datasets/loading/data_description.h"

namespace trainer {

/// data.json of a checkpoint.
std::string text_of(const DataDescription& description);
/// The reverse; Error(weights), whose text lacks the file's name, when `text` is not what text_of() wrote. It
/// is not trusted.
DataDescription parse_data_description(std::string_view text);

}  // namespace trainer
