#include "engine/parallel/link_speed.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <limits>

#include "engine/parallel/chunk_codes.h"
#include "engine/parallel/mpi_progress.h"

namespace trainer {
namespace {

/// Seconds until `chunks` messages of `bytes` each have arrived from the rank `distance` before this one.
double seconds_to_receive(MPI_Comm handle, int distance, int chunks, int bytes) {
  constexpr int kTag = 0;
  int rank = 0, ranks = 1;
  MPI_Comm_rank(handle, &rank);
  MPI_Comm_size(handle, &ranks);
  const std::vector<std::byte> out(kChunkBetweenHosts);
  std::vector<std::byte> in(static_cast<std::size_t>(chunks) * static_cast<std::size_t>(bytes));
  std::vector<MPI_Request> requests;
  check_mpi(MPI_Barrier(handle), "MPI_Barrier");
  const auto begin = std::chrono::steady_clock::now();
  for (int chunk = 0; chunk < chunks; ++chunk) {
    check_mpi(MPI_Irecv(in.data() + std::ptrdiff_t{chunk} * bytes, bytes, MPI_BYTE,
                        (rank + ranks - distance) % ranks, kTag, handle, &requests.emplace_back()),
              "MPI_Irecv");
    check_mpi(MPI_Isend(out.data(), bytes, MPI_BYTE, (rank + distance) % ranks, kTag, handle,
                        &requests.emplace_back()),
              "MPI_Isend");
  }
  check_mpi(MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE),
            "MPI_Waitall");
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

double measured_link_speed(MPI_Comm handle, const std::vector<int>& hosts) {
  std::ptrdiff_t most = 0;  // ranks of a host
  for (const int host : hosts) most = std::max(most, std::ranges::count(hosts, host));
  if (most == std::ssize(hosts)) return std::numeric_limits<double>::infinity();
  constexpr int kChunks = 8, kTrials = 4;
  double with_bytes = std::numeric_limits<double>::infinity(), empty = with_bytes;
  for (int trial = 0; trial < kTrials; ++trial) {  // the first ones connect the ranks and open TCP's window
    empty = std::min(empty, seconds_to_receive(handle, static_cast<int>(most), 1, 0));
    with_bytes = std::min(with_bytes, seconds_to_receive(handle, static_cast<int>(most), kChunks,
                                                         static_cast<int>(kChunkBetweenHosts)));
  }
  double longest = std::max(with_bytes - empty, 1e-9);
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, &longest, 1, MPI_DOUBLE, MPI_MAX, handle), "MPI_Allreduce");
  return static_cast<double>(kChunks * kChunkBetweenHosts) / longest;
}

}  // namespace trainer
