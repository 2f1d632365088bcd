#pragma once

#include <vector>

namespace trainer {

/// A processor core, as far as this process may use it.
struct Core {
  std::vector<int> hardware_threads;  ///< their numbers
  int domain = 0;                     ///< its NUMA domain

  friend bool operator==(const Core&, const Core&) = default;
};

/// The cores of this machine in the order of its tree, so that neighbours share caches and memory. From
/// hwloc; HWLOC_SYNTHETIC describes another machine. Empty where hwloc knows nothing.
std::vector<Core> read_topology();

/// The part of `machine` with these hardware threads. One that `machine` lacks is a core of its own.
std::vector<Core> cores_with(const std::vector<int>& hardware_threads, const std::vector<Core>& machine);

}  // namespace trainer
