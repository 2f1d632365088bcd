#include <fmt/format.h>

#include "cli/terminal/arguments.h"
#include "cli/terminal/shell_line.h"
#include "engine/core/error.h"

namespace trainer {

MeshShape mesh_of(const Arguments& arguments, int ranks) {
  const bool plans = !arguments.planned_ranks.empty(), own_launcher = arguments.ranks > 0 || plans;
  if (arguments.mesh) {
    const auto [data, model] = *arguments.mesh;
    if (static_cast<std::int64_t>(data) * model == ranks) return *arguments.mesh;
    std::string others;
    if (ranks % model == 0) others = fmt::format(", or --mesh {}x{}", ranks / model, model);
    throw Error(
        ExitCode::ranks,
        fmt::format("{} rank{} not make a {}x{} mesh", ranks, ranks == 1 ? " does" : "s do", data, model),
        fmt::format("{} -n {} ...{}, or --datapar", own_launcher || ranks == 1 ? "trainer" : "mpirun",
                    static_cast<std::int64_t>(data) * model, others));
  }
  // Samples are predicted one by one, so there is only one way to divide them.
  if (arguments.datapar || arguments.chooses_mesh || arguments.verb == Verb::predict) return {.data = ranks};
  if (arguments.modelpar) return {.model = ranks};
  if (ranks > 1) {
    std::vector<std::string> words{"mpirun", "-n", std::to_string(ranks), "trainer"};
    if (own_launcher) words = {"trainer", "-n", std::to_string(ranks)};
    if (arguments.verb != Verb::train) words.push_back(name_of(arguments.verb));
    words.push_back("--datapar");
    words.push_back(arguments.files.front());
    throw Error(ExitCode::ranks,
                std::to_string(ranks) + (plans ? " ranks need --datapar, --modelpar or --mesh"
                                               : " processes were started without --datapar or --modelpar"),
                shell_line(words));
  }
  return {};
}

}  // namespace trainer
