#include "cli/commands/engine_file.h"

#include <fmt/format.h>

#include <filesystem>
#include <string_view>
#include <utility>

#include "engine/core/error.h"
#include "engine/math/engine.h"
#include "engine/math/engine_table.h"
#include "engine/system/files.h"

namespace trainer {

void choose_engine_of(Arguments& arguments) {
  const std::string& file = arguments.engine_table;
  if (file.empty()) return choose_engine(arguments.engine);
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored))
    throw Error(ExitCode::usage, fmt::format("--engine {}: no such file", file),
                fmt::format("trainer time CONFIG --engines {} makes it", file));
  constexpr std::uint64_t kMax = std::uint64_t{1} << 24;
  arguments.engine_table_text = read_file(file, ExitCode::usage, kMax);
  std::vector<ProductShape> of_openblas = parse_engine_table(arguments.engine_table_text, file).of_openblas();
  if (of_openblas.empty()) return choose_engine(Engine::native);
  choose_engine_by_shape(std::move(of_openblas));
}

std::string name_of_engine_table(const std::string& engine) {
  constexpr std::string_view kTable = "table ";
  if (!engine.starts_with(kTable)) return "";
  return fmt::format("engines-{}.csv",
                     engine.substr(kTable.size(), engine.find(' ', kTable.size()) - kTable.size()));
}

}  // namespace trainer
