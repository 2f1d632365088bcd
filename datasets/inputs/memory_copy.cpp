#include "datasets/inputs/memory_copy.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace trainer {

MemoryCopy::MemoryCopy(InputText& input) : file_(::memfd_create("input", MFD_CLOEXEC)) {
  const auto fail = [&] {
    throw Error(ExitCode::failure, fmt::format("cannot keep {} in memory: {}", input.name(),
                                               std::generic_category().message(errno)));
  };
  if (file_.number() < 0) fail();
  do {
    std::string_view rest = input.rest();
    while (!rest.empty()) {
      const ssize_t size = ::write(file_.number(), rest.data(), rest.size());
      if (size < 0 && errno != EINTR) fail();
      if (size > 0) rest.remove_prefix(static_cast<std::size_t>(size));
    }
    input.take(input.rest().size());
  } while (input.fill(true) == InputText::Fill::more);
  path_ = fmt::format("/proc/self/fd/{}", file_.number());
}

}  // namespace trainer
