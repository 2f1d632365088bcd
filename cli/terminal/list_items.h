#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trainer {

/// What stands between the commas of a list, without spaces around it. Commas inside of brackets and quotes
/// end no item; brackets are of any kind, so that "[0, 64)" is one. Nothing if brackets or quotes stay open.
std::optional<std::vector<std::string>> list_items(std::string_view text);

}  // namespace trainer
