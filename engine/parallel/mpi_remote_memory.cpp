#include "engine/parallel/mpi_remote_memory.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <thread>
#include <vector>

#include "engine/parallel/memory_block.h"

namespace trainer {
namespace {

/// Bytes of a message that MPI gets at once; between two of them other threads may call MPI.
constexpr std::int64_t kChunk = 1 << 20;

}  // namespace

MpiRemoteMemory::MpiRemoteMemory(MpiGroup& group, std::int64_t bytes, bool takes_own) : group_(group) {
  const Heartbeat::Waiting waiting(group.heartbeat, "the memory for one-sided messages");
  const MpiProgress::Lock lock = group_.progress.enter();
  void* address = nullptr;
  if (takes_own) {
    check_mpi(MPI_Win_allocate(bytes, 1, MPI_INFO_NULL, group_.handle, &address, &window_),
              "MPI_Win_allocate");
  } else {
    private_ = private_memory(bytes);
    address = private_->bytes().data();
    check_mpi(MPI_Win_create(address, bytes, 1, MPI_INFO_NULL, group_.handle, &window_), "MPI_Win_create");
  }
  own_ = {static_cast<std::byte*>(address), static_cast<std::size_t>(bytes)};
  check_mpi(MPI_Win_set_errhandler(window_, MPI_ERRORS_RETURN), "MPI_Win_set_errhandler");
  std::ranges::fill(own_, std::byte{});
  check_mpi(MPI_Win_lock_all(MPI_MODE_NOCHECK, window_), "MPI_Win_lock_all");
  check_mpi(MPI_Win_sync(window_), "MPI_Win_sync");
  check_mpi(MPI_Barrier(group_.handle), "MPI_Barrier");  // no rank writes before all have cleared theirs
}

template <class Messages>
void MpiRemoteMemory::flush(const Messages& messages) {
  std::set<int> ranks;
  for (const auto& message : messages)
    if (message.rank != group_.rank) ranks.insert(message.rank);
  for (const int rank : ranks) {
    const MpiProgress::Lock lock = group_.progress.enter();
    check_mpi(MPI_Win_flush(rank, window_), "MPI_Win_flush");
  }
}

void MpiRemoteMemory::write(std::span<const Message> messages) {
  std::vector<MPI_Request> requests;
  for (const Message& message : messages) {
    if (message.rank == group_.rank) {
      std::ranges::copy(message.bytes, own_.begin() + message.offset);
      continue;
    }
    for (std::int64_t first = 0; first < std::ssize(message.bytes); first += kChunk) {
      const auto count = static_cast<int>(std::min(kChunk, std::ssize(message.bytes) - first));
      const MpiProgress::Lock lock = group_.progress.enter();
      check_mpi(MPI_Rput(message.bytes.data() + first, count, MPI_BYTE, message.rank, message.offset + first,
                         count, MPI_BYTE, window_, &requests.emplace_back(MPI_REQUEST_NULL)),
                "MPI_Rput");
    }
  }
  const auto are_taken = [&] {
    const MpiProgress::Lock lock = group_.progress.enter();
    int done = 0;
    check_mpi(MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done, MPI_STATUSES_IGNORE),
              "MPI_Testall");
    return done != 0;
  };
  // The rest of a large message moves while this thread sleeps, and others may call MPI.
  constexpr std::chrono::microseconds kNap{100};
  while (!are_taken()) std::this_thread::sleep_for(kNap);
  flush(messages);
}

void MpiRemoteMemory::set(std::span<const Counter> counters) {
  for (const Counter& counter : counters) {
    if (counter.rank == group_.rank) {
      std::atomic_ref(*reinterpret_cast<std::int64_t*>(own_.data() + counter.offset))
          .store(counter.value, std::memory_order_release);
      continue;
    }
    const MpiProgress::Lock lock = group_.progress.enter();
    check_mpi(MPI_Accumulate(&counter.value, 1, MPI_INT64_T, counter.rank, counter.offset, 1, MPI_INT64_T,
                             MPI_REPLACE, window_),
              "MPI_Accumulate");
  }
  flush(counters);
}

void MpiRemoteMemory::receive() {
  const MpiProgress::Lock lock = group_.progress.enter();
  int any = 0;
  check_mpi(MPI_Win_sync(window_), "MPI_Win_sync");
  // MPICH makes progress only in a probe that finds no message; no rank sends one to itself.
  check_mpi(MPI_Iprobe(group_.rank, MPI_ANY_TAG, group_.handle, &any, MPI_STATUS_IGNORE), "MPI_Iprobe");
}

void MpiRemoteMemory::close() {
  const Heartbeat::Waiting waiting(group_.heartbeat, "the end of one-sided messages");
  const MpiProgress::Lock lock = group_.progress.enter();
  check_mpi(MPI_Win_unlock_all(window_), "MPI_Win_unlock_all");
  check_mpi(MPI_Win_free(&window_), "MPI_Win_free");
  private_.reset();
  own_ = {};
}

}  // namespace trainer
