#include "engine/system/topology.h"

#include <hwloc.h>

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

namespace trainer {

std::vector<Core> read_topology() {
  hwloc_topology_t created = nullptr;
  if (hwloc_topology_init(&created) != 0) return {};
  const std::unique_ptr<hwloc_topology, void (*)(hwloc_topology_t)> topology(created, hwloc_topology_destroy);
  if (hwloc_topology_load(topology.get()) != 0) return {};
  // A machine may hide its cores (some emulators); then each hardware thread counts as one.
  const bool has_cores = hwloc_get_nbobjs_by_type(topology.get(), HWLOC_OBJ_CORE) > 0;
  const hwloc_obj_type_t type = has_cores ? HWLOC_OBJ_CORE : HWLOC_OBJ_PU;
  std::vector<Core> cores;
  for (hwloc_obj_t object = hwloc_get_next_obj_by_type(topology.get(), type, nullptr); object;
       object = hwloc_get_next_obj_by_type(topology.get(), type, object)) {
    Core core{.hardware_threads = {}, .domain = std::max(0, hwloc_bitmap_first(object->nodeset))};
    for (int number = hwloc_bitmap_first(object->cpuset); number >= 0;
         number = hwloc_bitmap_next(object->cpuset, number))
      core.hardware_threads.push_back(number);
    cores.push_back(std::move(core));
  }
  return cores;
}

std::vector<Core> cores_with(const std::vector<int>& hardware_threads, const std::vector<Core>& machine) {
  std::set<int> left(hardware_threads.begin(), hardware_threads.end());
  std::vector<Core> cores;
  for (const Core& whole : machine) {
    Core core{.hardware_threads = {}, .domain = whole.domain};
    for (const int number : whole.hardware_threads)
      if (left.erase(number) > 0) core.hardware_threads.push_back(number);
    if (!core.hardware_threads.empty()) cores.push_back(std::move(core));
  }
  for (const int number : left) cores.push_back({.hardware_threads = {number}});
  return cores;
}

}  // namespace trainer
