#include "engine/system/memory_use.h"

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

}  // namespace trainer
