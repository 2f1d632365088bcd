#include "cli/terminal/placement_flags.h"

#include <fmt/format.h>

namespace trainer {

std::vector<std::string> placement_flags(const Arguments& arguments) {
  std::vector<std::string> words;
  if (arguments.chooses_mesh)
    words = {"--mesh", "auto"};
  else if (arguments.mesh)
    words = {"--mesh", fmt::format("{}x{}", arguments.mesh->data, arguments.mesh->model)};
  else if (arguments.datapar || arguments.modelpar)
    words = {arguments.datapar ? "--datapar" : "--modelpar"};
  const auto add = [&](const char* flag, std::int64_t value) {
    if (value > 0) words.insert(words.end(), {flag, std::to_string(value)});
  };
  add("--ranks-per-node", arguments.ranks_per_node);
  add("--threads", arguments.threads);
  add("--workers", arguments.workers);
  add("--bucket", arguments.bucket);
  if (arguments.sharding != Sharding::state)
    words.insert(words.end(), {"--shard", name_of(arguments.sharding)});
  if (!arguments.engine_table.empty())
    words.insert(words.end(), {"--engine", arguments.engine_table});
  else if (arguments.engine != Engine::automatic)
    words.insert(words.end(), {"--engine", name_of(arguments.engine)});
  return words;
}

}  // namespace trainer
