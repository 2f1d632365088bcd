#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "engine/core/memory_ledger.h"
#include "engine/parallel/communicator.h"

namespace trainer {

/// Addresses of this process alone without memory behind them: bytes that are not committed may be neither
/// read nor written, and count for no limit but that of addresses (ulimit -v).
std::unique_ptr<SharedMemory> reserved_memory(std::int64_t bytes);
/// Gives memory to all pages that these floats touch, and counts it; what is new is zero. Only of
/// reserved_memory(). Error(failure) if the system has none.
void commit_pages(std::span<float> floats, MemoryKind kind);
/// Gives the pages that lie wholly within these floats back to the system; their values are lost.
void release_pages(std::span<float> floats);

}  // namespace trainer
