#pragma once

#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include "engine/core/memory_ledger.h"
#include "engine/parallel/communicator.h"
#include "engine/parallel/mpi_progress.h"
#include "engine/parallel/spare_buffers.h"

namespace trainer {

using MessageBuffer = std::vector<float, CountedAllocator<float, MemoryKind::messages>>;

/// What the messages of a group share.
struct MpiGroup {
  MPI_Comm handle = MPI_COMM_NULL;
  MpiProgress& progress;
  Heartbeat& heartbeat;
  bool between_hosts = false;         ///< true if its ranks are on several hosts
  std::vector<int> world_ranks = {};  ///< by rank of the group
  int rank = 0;
  std::int64_t exchanges = 0;  ///< begun so far

  // An exchange of all ranks sends to the next rank first, so that no rank receives from all others at once.
  int after(int distance) const { return (rank + distance) % size(); }
  int before(int distance) const { return (rank + size() - distance) % size(); }
  int size() const { return static_cast<int>(world_ranks.size()); }
};

/// Messages under way between this rank and others; between hosts they move in the background. All ranks of
/// the group make their exchanges in the same order.
///
/// Between hosts a message travels in chunks below MPI's eager limit: with the rendezvous protocol the
/// receiver's answer waits behind all that it sends itself, and a link carries one direction at a time. All
/// exchanges share the few chunks that may be on their way to a rank; what starts first is sent first, and a
/// rank that has all it waits for begins the next exchange while others still wait.
class MpiExchange final : public Request, private MpiTask {
 public:
  /// `what`: a text of static lifetime for the watchdog. `group` outlives this object.
  explicit MpiExchange(MpiGroup& group, const char* what = "messages of other ranks");
  ~MpiExchange() override;
  MpiExchange(const MpiExchange&) = delete;
  MpiExchange& operator=(const MpiExchange&) = delete;

  /// Announces a message; `values` must stay until the exchange is complete.
  template <class T>
  void send(std::span<const T> values, int to) {
    add(values.data(), nullptr, std::ssize(values), sizeof(T), to, std::is_same_v<T, float>);
  }
  template <class T>
  void receive(std::span<T> values, int from) {
    add(nullptr, values.data(), std::ssize(values), sizeof(T), from, std::is_same_v<T, float>);
  }
  /// Sends and receives what was announced.
  void start();

  bool test() override;
  void wait() override;

 private:
  struct Message {
    const std::byte* source;  ///< null: it is received
    std::byte* target;
    std::int64_t bytes;
    int peer;
    bool may_be_encoded;            ///< floats between hosts
    std::int64_t begun = 0;         ///< bytes
    std::size_t first_request = 0;  ///< of consecutive ones
    int requests = 0, under_way = 0;
  };
  /// A part of a message that is under way.
  struct Chunk {
    std::int64_t first = 0, bytes = 0;
    std::unique_ptr<ChunkCodes::Code> code = nullptr;  ///< that is sent
  };
  void add(const void* source, void* target, std::int64_t count, std::size_t size, int peer, bool are_floats);
  bool advance() noexcept override;
  /// False if the message has to wait for its own chunks or those of earlier exchanges.
  bool may_begin(const Message& message) const;
  /// Sends or receives the next chunks of the message; true if there are any.
  bool begin_chunks(Message& message) noexcept;
  bool begin_chunks() noexcept;
  void begin_chunk(Message& message, std::size_t request) noexcept;
  void finish_chunk(std::size_t request, const MPI_Status& status) noexcept;
  void decode_chunk(const Message& message, const Chunk& chunk, const MPI_Status& status) noexcept;
  int& sends_to(const Message& message) const { return group_.progress.sends_to(world_rank(message)); }
  int world_rank(const Message& message) const {
    return group_.world_ranks[static_cast<std::size_t>(message.peer)];
  }
  Message& message_of(std::size_t request) {
    return messages_[static_cast<std::size_t>(message_of_[request])];
  }
  void abandon() noexcept;
  bool is_under_way(std::size_t request) const { return requests_[request] != MPI_REQUEST_NULL; }

  const MpiGroup& group_;
  const char* what_;
  int tag_;
  std::vector<Message> messages_;
  std::vector<MPI_Request> requests_;  ///< a few for each message
  std::vector<int> message_of_;        ///< by request
  std::vector<Chunk> chunks_;          ///< by request
  std::vector<int> finished_;          ///< room for MPI's list
  std::vector<MPI_Status> statuses_;   ///< of those
  std::int64_t chunks_left_ = 0;
  int polls_in_vain_ = 0;   ///< of wait(), since a chunk was finished
  bool overtakes_ = false;  ///< sends although earlier exchanges have chunks under way
  int error_ = MPI_SUCCESS;
  std::atomic<bool> complete_{false};
};

/// Every rank sends each other one its part, and adds what it gets in rank order: the least possible traffic,
/// and sums that repeat bit for bit.
class MpiReduceScatter final : public Request {
 public:
  /// `slices`: the parts of the buffer, by rank. Takes memory from `spare_buffers` and returns it there, so
  /// that repeated steps allocate nothing; both outlive this object.
  MpiReduceScatter(MpiGroup& group, const std::vector<std::span<float>>& slices,
                   std::vector<MessageBuffer>& spare_buffers);
  ~MpiReduceScatter() override { spare_buffers_.push_back(std::move(received_)); }
  MpiReduceScatter(const MpiReduceScatter&) = delete;
  MpiReduceScatter& operator=(const MpiReduceScatter&) = delete;

  bool test() override;
  void wait() override;

 private:
  void add();

  std::vector<MessageBuffer>& spare_buffers_;
  MessageBuffer received_;
  MpiExchange exchange_;
  std::span<float> mine_;
  std::vector<const float*> sources_;
  bool summed_ = false;
};

}  // namespace trainer
