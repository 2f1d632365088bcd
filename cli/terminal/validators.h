#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

namespace trainer {

// Checks of the values of flags, whose messages show the allowed ones.

CLI::Validator whole_number(std::int64_t least, std::int64_t most);
/// Finite and above 0.
CLI::Validator positive_number();
CLI::Validator number_within(double least, double most);
CLI::Validator not_empty();
/// Its name holds the words for completions, separated by spaces.
CLI::Validator one_of(const std::vector<std::string>& names);
/// The same, or a file: a text with a dot or a slash, or the name of one that exists. Messages name it
/// `file`.
CLI::Validator one_of_or_file(const std::vector<std::string>& names, const std::string& file);
/// Accepts every text: completions alone know the names.
CLI::Validator proposed(const std::vector<std::string>& names);

}  // namespace trainer
