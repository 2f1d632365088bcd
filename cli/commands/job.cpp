#include <fmt/format.h>

#include "cli/commands/commands.h"
#include "cli/terminal/output.h"
#include "engine/core/error.h"

namespace trainer {

void Job::print(std::string_view text) const {
  if (world.rank() == 0) print_result(text);
}

void Job::print_as_it_is(std::string_view bytes) const {
  if (world.rank() == 0) print_bytes(bytes);
}

void Job::warn(std::string_view text) const {
  if (world.rank() == 0) print_message(text);
}

void require_one_process(const Job& job) {
  if (job.world.size() > 1)
    throw Error(ExitCode::ranks, fmt::format("{} is for one process", name_of(job.arguments.verb)),
                "start it without a launcher");
}

}  // namespace trainer
