#include "cli/commands/commands.h"
#include "cli/terminal/output.h"

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

}  // namespace trainer
