#pragma once

#include <mpi.h>

#include <vector>

#include "engine/parallel/communicator.h"

namespace trainer {

/// Error(lost) with MPI's own words unless `code` is success.
void check_mpi(int code, const char* call);

/// A group of ranks with an MPI communicator of its own. MPI_Comm_free is collective, so no destructor calls
/// it: a destroyed group's communicator is freed when the group of all ranks splits the next time, or by
/// MPI_Finalize.
class MpiCommunicator : public Communicator {
 public:
  /// Takes over `handle`, which nobody else may use, so that messages of other libraries never meet these.
  /// `parent` is the group that this one is a part of; null: it is the group of all ranks, which outlives all
  /// others.
  MpiCommunicator(MPI_Comm handle, Heartbeat& heartbeat, MpiCommunicator* parent = nullptr);
  ~MpiCommunicator() override;
  MpiCommunicator(const MpiCommunicator&) = delete;
  MpiCommunicator& operator=(const MpiCommunicator&) = delete;

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  int world_rank(int rank) const override { return world_ranks_[static_cast<std::size_t>(rank)]; }
  Heartbeat& heartbeat() override { return heartbeat_; }
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
  std::unique_ptr<Request> start_reduce_scatter(std::span<float> values,
                                                std::span<const std::int64_t> counts) override;
  void all_to_all(std::span<const float> out, std::span<const std::int64_t> counts_out, std::span<float> in,
                  std::span<const std::int64_t> counts_in) override;
  std::unique_ptr<Request> start_all_to_all(std::span<const float> out,
                                            std::span<const std::int64_t> counts_out, std::span<float> in,
                                            std::span<const std::int64_t> counts_in) override;
  std::unique_ptr<Communicator> split(int color, int key) override;
  std::unique_ptr<Communicator> split_by_host() override;
  std::unique_ptr<SharedMemory> shared(std::int64_t bytes) override;
  [[noreturn]] void abort(ExitCode code) override;

 private:
  class Exchange;
  class ReduceScatter;

  bool all_agree(bool mine);
  void free_retired();

  MPI_Comm handle_;
  MpiCommunicator& all_ranks_;
  Heartbeat& heartbeat_;
  int rank_ = 0, size_ = 1;
  std::vector<int> world_ranks_;
  std::vector<std::vector<float>> spare_buffers_;  ///< kept, so that repeated steps allocate nothing
  std::vector<MPI_Comm> retired_;                  ///< of the group of all ranks: those of destroyed groups
};

}  // namespace trainer
