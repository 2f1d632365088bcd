#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace trainer {

/// RFC 4648, section 4, with padding and without line ends.
std::string base64(std::string_view bytes);
/// The bytes; none if `text` is not base64.
std::optional<std::string> bytes_of_base64(std::string_view text);

}  // namespace trainer
