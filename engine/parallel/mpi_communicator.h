#pragma once

#include <mpi.h>

#include <map>
#include <vector>

#include "engine/parallel/communicator.h"
#include "engine/parallel/mpi_exchange.h"

namespace trainer {

/// A group of ranks with an MPI communicator of its own. Making one takes MPI milliseconds on busy cores, and
/// MPI_Comm_free is collective: a destroyed group leaves its communicator to the next group of the same
/// ranks.
class MpiCommunicator : public Communicator {
 public:
  // Both own `handle`, which no other library may use, so that their messages never match these.
  /// The group of all ranks, which outlives all others; `hosts`: by rank, equal for ranks of one host.
  MpiCommunicator(MPI_Comm handle, Heartbeat& heartbeat, MpiProgress& progress, std::vector<int> hosts);
  /// A part of `parent` with these ranks.
  MpiCommunicator(MPI_Comm handle, std::vector<int> world_ranks, const MpiCommunicator& parent);
  ~MpiCommunicator() override;
  MpiCommunicator(const MpiCommunicator&) = delete;
  MpiCommunicator& operator=(const MpiCommunicator&) = delete;

  int rank() const override { return group_.rank; }
  int size() const override { return static_cast<int>(group_.world_ranks.size()); }
  int world_rank(int rank) const override { return group_.world_ranks[static_cast<std::size_t>(rank)]; }
  Heartbeat& heartbeat() override { return group_.heartbeat; }
  bool encodes_floats() const override { return group_.between_hosts && group_.progress.codes.are_used(); }
  void barrier() override;
  void sum(std::span<float> values) override;
  void sum(std::span<double> values) override;
  void sum(std::span<std::int64_t> values) override;
  void maximum(std::span<double> values) override;
  void broadcast(std::span<std::byte> bytes, int root) override;
  std::vector<std::vector<std::byte>> gather(std::span<const std::byte> mine, int root) override;
  void all_gather(std::span<const float> mine, std::span<float> all,
                  std::span<const std::int64_t> counts) override;
  std::unique_ptr<Request> start_all_gather(std::span<const float> mine, std::span<float> all,
                                            std::span<const std::int64_t> counts) override;
  std::unique_ptr<Request> start_all_gather(std::span<const std::byte> mine, std::span<std::byte> all,
                                            std::span<const std::int64_t> counts) override;
  std::unique_ptr<Request> start_reduce_scatter(std::span<float> values,
                                                std::span<const std::int64_t> counts) override;
  void all_to_all(std::span<const float> out, std::span<const std::int64_t> counts_out, std::span<float> in,
                  std::span<const std::int64_t> counts_in) override;
  std::unique_ptr<Request> start_all_to_all(std::span<const float> out,
                                            std::span<const std::int64_t> counts_out, std::span<float> in,
                                            std::span<const std::int64_t> counts_in) override;
  std::unique_ptr<Request> start_all_to_all(std::span<const std::byte> out,
                                            std::span<const std::int64_t> counts_out, std::span<std::byte> in,
                                            std::span<const std::int64_t> counts_in) override;
  std::unique_ptr<Communicator> split(int color, int key) override;
  std::unique_ptr<Communicator> split_by_host() override;
  std::unique_ptr<SharedMemory> shared(std::int64_t bytes) override;
  std::unique_ptr<RemoteMemory> remote_memory(std::int64_t bytes) override;
  [[noreturn]] void abort(ExitCode code) override;

 private:
  void set_up();
  bool all_agree(bool mine);
  std::vector<int> ranks_of(int color, int key);
  MPI_Comm make_part(const std::vector<int>& ranks);

  MpiCommunicator& all_ranks_;
  std::vector<int> hosts_;  ///< of the group of all ranks: as its constructor has them
  MpiGroup group_;
  std::vector<MessageBuffer> spare_buffers_;  ///< of reduce-scatters
  /// Of the group of all ranks: communicators of destroyed groups, by their ranks of the world in order.
  std::multimap<std::vector<int>, MPI_Comm> retired_;
};

}  // namespace trainer
