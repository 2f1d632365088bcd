#pragma once

#include <string>

#include "cli/terminal/arguments.h"

namespace trainer {

/// Chooses the engine of --engine, and keeps the text of the table that it may name in `arguments`.
/// Error(usage) if there is no such file, or for what parse_engine_table() and choose_engine() refuse.
void choose_engine_of(Arguments& arguments);

/// "engines-1c0b7e55d2f3a9c1.csv", the copy of a table in a run directory, for the engine "table
/// 1c0b7e55d2f3a9c1 (...)"; empty for other engines.
std::string name_of_engine_table(const std::string& engine);

}  // namespace trainer
