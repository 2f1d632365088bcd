#include "engine/system/host.h"

#include <sys/utsname.h>

namespace trainer {

std::string host_name() {
  utsname system{};
  return ::uname(&system) == 0 ? system.nodename : "unknown";
}

}  // namespace trainer
