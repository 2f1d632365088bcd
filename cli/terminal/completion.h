#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace trainer {

/// The completion of a shell, "bash", "zsh" or "fish", for the commands and flags of `app` and the keys that
/// -s takes.
std::string completion_script(const std::string& shell, const CLI::App& app,
                              const std::vector<std::string>& keys);

/// The man page in section 1, as troff.
std::string man_page(const CLI::App& app, const std::string& version);

}  // namespace trainer
