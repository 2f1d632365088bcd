#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trainer {

/// Without spaces around it.
std::string_view trimmed(std::string_view text);

/// What stands between the commas of a list, without spaces around it. Commas inside of brackets and quotes
/// end no item; brackets are of any kind, so that "[0, 64)" is one. Nothing if brackets or quotes stay open.
std::optional<std::vector<std::string>> list_items(std::string_view text);

}  // namespace trainer
