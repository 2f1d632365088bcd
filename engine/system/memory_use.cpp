#include "engine/system/memory_use.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>

namespace trainer {

std::int64_t proportional_memory() {
  std::ifstream file("/proc/self/smaps_rollup");
  constexpr std::int64_t kKib = 1024;
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("Pss:")) return std::stoll(line.substr(line.find(':') + 1)) * kKib;
  return 0;
}

std::int64_t granted_memory() {
  std::int64_t memory = static_cast<std::int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
  // "max" where there is no limit: then no number is read.
  for (const char* name : {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"})
    if (std::int64_t limit = 0; std::ifstream(name) >> limit && limit > 0) memory = std::min(memory, limit);
  return memory;
}

}  // namespace trainer
