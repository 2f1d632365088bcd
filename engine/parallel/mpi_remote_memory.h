#pragma once

#include <mpi.h>

#include "engine/parallel/mpi_exchange.h"
#include "engine/parallel/remote_memory.h"

namespace trainer {

/// A window of MPI in one passive epoch from beginning to end: no rank has to take part in what others write.
class MpiRemoteMemory final : public RemoteMemory {
 public:
  /// `bytes`: of this rank. `takes_own`: MPI chooses where the memory lies, on one host in a block that its
  /// ranks share; else it is this process's own. `group` outlives this object. Collective.
  MpiRemoteMemory(MpiGroup& group, std::int64_t bytes, bool takes_own);

  std::span<std::byte> own() override { return own_; }
  void write(std::span<const Message> messages) override;
  void set(std::span<const Counter> counters) override;
  void receive() override;
  void close() override;

 private:
  /// Returns once the messages to these ranks have arrived.
  template <class Messages>
  void flush(const Messages& messages);

  MpiGroup& group_;
  std::unique_ptr<SharedMemory> private_;  ///< null where MPI has allocated it
  std::span<std::byte> own_;
  MPI_Win window_ = MPI_WIN_NULL;
};

}  // namespace trainer
