#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "datasets/loading/data_description.h"

namespace trainer {

constexpr std::uint64_t kMaxDataBytes = 256 << 20;  ///< a million long class names

/// data.json of a checkpoint. Error(data) if it is larger than `most`: it could not be read again.
std::string text_of(const DataDescription& description, std::uint64_t most = kMaxDataBytes);
/// The reverse; Error(weights), whose text lacks the file's name, when `text` is not what text_of() wrote. It
/// is not trusted.
DataDescription parse_data_description(std::string_view text);

}  // namespace trainer
