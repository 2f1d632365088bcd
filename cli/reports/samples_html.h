#pragma once

#include <string>

namespace trainer {

/// The text of samples_json(), of a file that is not trusted, as HTML; empty if it is none.
std::string samples_html(const std::string& json);

}  // namespace trainer
