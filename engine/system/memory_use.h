#pragma once

#include <cstdint>

namespace trainer {

/// Bytes of memory that this process uses now, a page that several processes share counted in parts (Pss), so
/// that the figures of all processes can be added. 0 where the system does not report it.
std::int64_t proportional_memory();

/// Bytes that processes of this machine may use together: its memory, or the limit of the cgroup if that is
/// less.
std::int64_t granted_memory();

}  // namespace trainer
