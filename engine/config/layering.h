#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/config/node.h"
#include "engine/config/setting.h"

namespace trainer {

/// `below` overridden by `over`: maps merge, lists and scalars replace, and a family's value that names
/// another member replaces the whole value.
Node merged(Node below, Node over, const std::vector<Setting>& root);

/// Throws Error(usage) unless the text of a `-s` is KEY=VALUE.
void check_override(const SourceText& override_text);

/// Puts one `-s path=value` into the tree; the new nodes have the override as their place. Throws
/// Error(usage) when the path leads nowhere; a wrong key at its end is the checker's to find. What is
/// parsed on the way stays in `texts`, which must outlive the tree. Returns a note when the path leads
/// through a member that takes the place of another one, else an empty text.
std::string apply_override(Node& tree, SourceText& override_text, const std::vector<Setting>& root,
                           std::vector<std::unique_ptr<SourceText>>& texts);

}  // namespace trainer
