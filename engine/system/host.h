#pragma once

#include <string>

namespace trainer {

/// What this machine calls itself.
std::string host_name();

}  // namespace trainer
