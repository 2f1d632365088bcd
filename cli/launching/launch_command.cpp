#include "cli/launching/launch_command.h"

namespace trainer {

std::string list_of(const std::vector<HostShare>& hosts) {
  std::string list;
  for (const HostShare& share : hosts)
    list += (list.empty() ? "" : ",") + share.host + ":" + std::to_string(share.ranks);
  return list;
}

}  // namespace trainer
