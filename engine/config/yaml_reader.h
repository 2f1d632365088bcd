#pragma once

#include "engine/config/node.h"

namespace trainer {

/// The bytes of a file that may be YAML. Throws Error(usage), which points at `named_at` when that is a
/// place.
std::string read_text(const std::string& path, const Place& named_at = {});

/// Parses one YAML document. Throws Error(usage) on what is no YAML, has duplicate keys or tags, or is too
/// large or too deep. The source must outlive the nodes.
Node parse_yaml(const SourceText& source);

}  // namespace trainer
