#include "engine/parallel/mpi_communicator.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>

#include "engine/parallel/launcher_environment.h"
#include "engine/parallel/memory_block.h"
#include "engine/parallel/sum_in_order.h"
#include "engine/system/wait_until.h"

namespace trainer {
namespace {

/// MPI counts in int, so long messages go in chunks of this many elements.
constexpr std::int64_t kChunk = 1 << 22;
constexpr int kTag = 1;

template <class Function>
void for_chunks(std::int64_t count, const Function& function) {
  for (std::int64_t first = 0; first < count; first += kChunk)
    function(first, static_cast<int>(std::min(kChunk, count - first)));
}

/// As MPI_Wait, but never keeps a core that the ranks waited for may need.
void wait_for(MPI_Request& request) {
  if (mpi_yields()) {
    check_mpi(MPI_Wait(&request, MPI_STATUS_IGNORE), "MPI_Wait");
    return;
  }
  const auto complete = [&] {
    int done = 0;
    check_mpi(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
    return done != 0;
  };
  constexpr bool kYieldAtOnce = true;
  wait_until(complete, kYieldAtOnce);
}

template <class T>
void all_reduce(MPI_Comm handle, int ranks, Heartbeat& heartbeat, std::span<T> values, MPI_Datatype type,
                MPI_Op operation) {
  if (ranks == 1) return;
  const Heartbeat::Waiting waiting(heartbeat, "a sum over ranks");
  for_chunks(std::ssize(values), [&](std::int64_t first, int count) {
    T* const chunk = values.data() + first;
    if (mpi_yields()) {  // the blocking call is the faster one
      check_mpi(MPI_Allreduce(MPI_IN_PLACE, chunk, count, type, operation, handle), "MPI_Allreduce");
      return;
    }
    MPI_Request request;
    check_mpi(MPI_Iallreduce(MPI_IN_PLACE, chunk, count, type, operation, handle, &request),
              "MPI_Iallreduce");
    wait_for(request);
  });
}

/// Cuts `values` by rank. The counts must fill it: a mistake here would write into somebody else's memory.
template <class T>
std::vector<std::span<T>> parts(std::span<T> values, std::span<const std::int64_t> counts, int ranks) {
  if (std::ssize(counts) != ranks ||
      std::accumulate(counts.begin(), counts.end(), std::int64_t{0}) != std::ssize(values))
    throw std::logic_error("a collective's counts do not fit its buffer");
  std::vector<std::span<T>> result;
  for (const std::int64_t count : counts) {
    result.push_back(values.first(static_cast<std::size_t>(count)));
    values = values.subspan(static_cast<std::size_t>(count));
  }
  return result;
}

/// Waits until the launcher has taken what this rank wrote: MPICH's drops the rest when a rank aborts.
void wait_until_read(int output) {
  using namespace std::chrono_literals;
  struct stat status {};
  if (fstat(output, &status) != 0 || !S_ISFIFO(status.st_mode)) return;
  const auto deadline = std::chrono::steady_clock::now() + 2s;
  int unread = 0;
  while (ioctl(output, FIONREAD, &unread) == 0 && unread > 0 && std::chrono::steady_clock::now() < deadline)
    std::this_thread::sleep_for(1ms);
}

}  // namespace

void check_mpi(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  char words[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, words, &length);
  throw Error(ExitCode::lost, fmt::format("{} failed: {}", call, words),
              "a rank or the network was lost; --init RUN/checkpoints/last/model.safetensors starts from "
              "what is saved");
}

/// Messages under way between this rank and others. Messages of two ranks keep their order, so exchanges that
/// all ranks start in the same order need one tag only.
class MpiCommunicator::Exchange final : public Request {
 public:
  explicit Exchange(MpiCommunicator& group, const char* what = "messages of other ranks")
      : group_(group), what_(what) {}

  template <class T>
  void send(std::span<const T> values, int to, MPI_Datatype type) {
    for_chunks(std::ssize(values), [&](std::int64_t first, int count) {
      check_mpi(MPI_Isend(values.data() + first, count, type, to, kTag, group_.handle_, &begin(to)),
                "MPI_Isend");
    });
  }
  template <class T>
  void receive(std::span<T> values, int from, MPI_Datatype type) {
    for_chunks(std::ssize(values), [&](std::int64_t first, int count) {
      check_mpi(MPI_Irecv(values.data() + first, count, type, from, kTag, group_.handle_, &begin(from)),
                "MPI_Irecv");
    });
  }

  bool test() override {
    int done = 0;
    check_mpi(MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &done, MPI_STATUSES_IGNORE),
              "MPI_Testall");
    return done != 0;
  }
  void wait() override {
    Heartbeat::Waiting waiting(group_.heartbeat_, what_);
    for (std::size_t i = 0; i < requests_.size(); ++i) {
      waiting.for_rank(group_.world_rank(peers_[i]));
      wait_for(requests_[i]);
    }
  }

 private:
  MPI_Request& begin(int peer) {
    peers_.push_back(peer);
    return requests_.emplace_back(MPI_REQUEST_NULL);
  }

  MpiCommunicator& group_;
  const char* what_;
  std::vector<MPI_Request> requests_;
  std::vector<int> peers_;  ///< with whom, for each request
};

/// Every rank sends each other one its part, and adds what it gets in rank order: the least possible traffic,
/// and sums that repeat bit for bit.
class MpiCommunicator::ReduceScatter final : public Request {
 public:
  ReduceScatter(MpiCommunicator& group, std::span<float> values, std::span<const std::int64_t> counts)
      : group_(group), exchange_(group) {
    const auto slices = parts(values, counts, group.size());
    mine_ = slices[static_cast<std::size_t>(group.rank())];
    if (!group.spare_buffers_.empty()) {
      received_ = std::move(group.spare_buffers_.back());
      group.spare_buffers_.pop_back();
    }
    received_.resize(mine_.size() * (slices.size() - 1));
    std::span<float> room(received_);
    for (int other = 0; other < group.size(); ++other) {
      if (other == group.rank()) {
        sources_.push_back(mine_.data());
        continue;
      }
      sources_.push_back(room.data());
      exchange_.receive(room.first(mine_.size()), other, MPI_FLOAT);
      room = room.subspan(mine_.size());
      exchange_.send<float>(slices[static_cast<std::size_t>(other)], other, MPI_FLOAT);
    }
  }
  ~ReduceScatter() override { group_.spare_buffers_.push_back(std::move(received_)); }

  bool test() override {
    if (!summed_ && exchange_.test()) add();
    return summed_;
  }
  void wait() override {
    if (summed_) return;
    exchange_.wait();
    add();
  }

 private:
  void add() {
    sum_in_order(sources_, mine_.data(), 0, std::ssize(mine_));
    summed_ = true;
  }

  MpiCommunicator& group_;
  Exchange exchange_;
  std::span<float> mine_;
  std::vector<float> received_;
  std::vector<const float*> sources_;
  bool summed_ = false;
};

MpiCommunicator::MpiCommunicator(MPI_Comm handle, Heartbeat& heartbeat, MpiCommunicator* parent)
    : handle_(handle), all_ranks_(parent ? parent->all_ranks_ : *this), heartbeat_(heartbeat) {
  check_mpi(MPI_Comm_set_errhandler(handle_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  MPI_Comm_rank(handle_, &rank_);
  MPI_Comm_size(handle_, &size_);
  world_ranks_.resize(static_cast<std::size_t>(size_));
  std::iota(world_ranks_.begin(), world_ranks_.end(), 0);
  if (!parent) return;
  MPI_Group mine = MPI_GROUP_NULL, all = MPI_GROUP_NULL;
  MPI_Comm_group(handle_, &mine);
  MPI_Comm_group(parent->handle_, &all);
  const std::vector<int> ranks = world_ranks_;
  MPI_Group_translate_ranks(mine, size_, ranks.data(), all, world_ranks_.data());
  for (int& rank : world_ranks_) rank = parent->world_rank(rank);
  MPI_Group_free(&mine);
  MPI_Group_free(&all);
}

MpiCommunicator::~MpiCommunicator() {
  if (&all_ranks_ != this) all_ranks_.retired_.push_back(handle_);
}

/// Collective over all ranks, which destroy their groups in the same order.
void MpiCommunicator::free_retired() {
  for (MPI_Comm& handle : retired_) check_mpi(MPI_Comm_free(&handle), "MPI_Comm_free");
  retired_.clear();
}

void MpiCommunicator::barrier() {
  if (size_ == 1) return;
  MPI_Request request;
  check_mpi(MPI_Ibarrier(handle_, &request), "MPI_Ibarrier");
  const Heartbeat::Waiting waiting(heartbeat_, "a barrier");
  wait_for(request);
}

void MpiCommunicator::sum(std::span<float> values) {
  all_reduce(handle_, size_, heartbeat_, values, MPI_FLOAT, MPI_SUM);
}
void MpiCommunicator::sum(std::span<double> values) {
  all_reduce(handle_, size_, heartbeat_, values, MPI_DOUBLE, MPI_SUM);
}
void MpiCommunicator::sum(std::span<std::int64_t> values) {
  all_reduce(handle_, size_, heartbeat_, values, MPI_INT64_T, MPI_SUM);
}
void MpiCommunicator::maximum(std::span<double> values) {
  all_reduce(handle_, size_, heartbeat_, values, MPI_DOUBLE, MPI_MAX);
}

void MpiCommunicator::broadcast(std::span<std::byte> bytes, int root) {
  // A rank that waits knows for whom; in a tree it would not.
  constexpr std::int64_t kFewBytes = 1 << 12;
  if (std::ssize(bytes) <= kFewBytes) {
    Exchange exchange(*this, "a broadcast");
    for (int other = 0; rank_ == root && other < size_; ++other)
      if (other != root) exchange.send<std::byte>(bytes, other, MPI_BYTE);
    if (rank_ != root) exchange.receive(bytes, root, MPI_BYTE);
    exchange.wait();
    return;
  }
  const Heartbeat::Waiting waiting(heartbeat_, "a broadcast");
  for_chunks(std::ssize(bytes), [&](std::int64_t first, int count) {
    MPI_Request request;
    check_mpi(MPI_Ibcast(bytes.data() + first, count, MPI_BYTE, root, handle_, &request), "MPI_Ibcast");
    wait_for(request);
  });
}

std::vector<std::vector<std::byte>> MpiCommunicator::gather(std::span<const std::byte> mine, int root) {
  const char* const what = "a gathering";
  const std::int64_t my_length = std::ssize(mine);
  std::vector<std::int64_t> lengths(rank_ == root ? static_cast<std::size_t>(size_) : 0, my_length);
  Exchange announcement(*this, what), exchange(*this, what);
  for (int other = 0; other < static_cast<int>(lengths.size()); ++other)
    if (other != root)
      announcement.receive(std::span(lengths).subspan(static_cast<std::size_t>(other), 1), other,
                           MPI_INT64_T);
  if (rank_ != root) announcement.send(std::span(&my_length, 1), root, MPI_INT64_T);
  announcement.wait();
  std::vector<std::vector<std::byte>> all(lengths.size());
  for (int other = 0; other < static_cast<int>(all.size()); ++other) {
    auto& bytes = all[static_cast<std::size_t>(other)];
    bytes.resize(static_cast<std::size_t>(lengths[static_cast<std::size_t>(other)]));
    if (other != root) exchange.receive<std::byte>(bytes, other, MPI_BYTE);
  }
  if (rank_ == root)
    std::ranges::copy(mine, all[static_cast<std::size_t>(root)].begin());
  else
    exchange.send(mine, root, MPI_BYTE);
  exchange.wait();
  return all;
}

void MpiCommunicator::all_gather(std::span<const float> mine, std::span<float> all,
                                 std::span<const std::int64_t> counts) {
  start_all_gather(mine, all, counts)->wait();
}

std::unique_ptr<Request> MpiCommunicator::start_all_gather(std::span<const float> mine, std::span<float> all,
                                                           std::span<const std::int64_t> counts) {
  const auto slices = parts(all, counts, size_);
  const std::span<float> own = slices[static_cast<std::size_t>(rank_)];
  if (own.size() != mine.size()) throw std::logic_error("all_gather: my part differs from my count");
  auto exchange = std::make_unique<Exchange>(*this);
  for (int other = 0; other < size_; ++other) {
    if (other == rank_) continue;
    exchange->receive(slices[static_cast<std::size_t>(other)], other, MPI_FLOAT);
    exchange->send(mine, other, MPI_FLOAT);
  }
  if (own.data() != mine.data()) std::ranges::copy(mine, own.begin());
  return exchange;
}

std::unique_ptr<Request> MpiCommunicator::start_reduce_scatter(std::span<float> values,
                                                               std::span<const std::int64_t> counts) {
  return std::make_unique<ReduceScatter>(*this, values, counts);
}

void MpiCommunicator::all_to_all(std::span<const float> out, std::span<const std::int64_t> counts_out,
                                 std::span<float> in, std::span<const std::int64_t> counts_in) {
  start_all_to_all(out, counts_out, in, counts_in)->wait();
}

std::unique_ptr<Request> MpiCommunicator::start_all_to_all(std::span<const float> out,
                                                           std::span<const std::int64_t> counts_out,
                                                           std::span<float> in,
                                                           std::span<const std::int64_t> counts_in) {
  const auto outgoing = parts(out, counts_out, size_);
  const auto incoming = parts(in, counts_in, size_);
  const auto me = static_cast<std::size_t>(rank_);
  if (outgoing[me].size() != incoming[me].size())
    throw std::logic_error("all_to_all: what I send to myself differs from what I receive");
  auto exchange = std::make_unique<Exchange>(*this);
  for (int other = 0; other < size_; ++other) {
    if (other == rank_) continue;
    exchange->receive(incoming[static_cast<std::size_t>(other)], other, MPI_FLOAT);
    exchange->send(outgoing[static_cast<std::size_t>(other)], other, MPI_FLOAT);
  }
  std::ranges::copy(outgoing[me], incoming[me].begin());
  return exchange;
}

std::unique_ptr<Communicator> MpiCommunicator::split(int color, int key) {
  const Heartbeat::Waiting waiting(heartbeat_, "the forming of groups");
  free_retired();
  MPI_Comm part = MPI_COMM_NULL;
  check_mpi(MPI_Comm_split(handle_, color, key, &part), "MPI_Comm_split");
  return std::make_unique<MpiCommunicator>(part, heartbeat_, this);
}

std::unique_ptr<Communicator> MpiCommunicator::split_by_host() {
  const Heartbeat::Waiting waiting(heartbeat_, "the forming of groups");
  MPI_Comm part = MPI_COMM_NULL;
  check_mpi(MPI_Comm_split_type(handle_, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &part),
            "MPI_Comm_split_type");
  return std::make_unique<MpiCommunicator>(part, heartbeat_, this);
}

bool MpiCommunicator::all_agree(bool mine) {
  std::int64_t refusals = mine ? 0 : 1;
  sum(std::span(&refusals, 1));
  return refusals == 0;
}

std::unique_ptr<SharedMemory> MpiCommunicator::shared(std::int64_t bytes) {
  if (size_ == 1 || bytes == 0) return private_memory(bytes);
  // Some room stays for others, MPI's own segments among them.
  constexpr std::int64_t kMargin = 1 << 20;
  if (!all_agree(NamedMemory::room() >= bytes + kMargin)) return nullptr;

  // Process number and time: no other job's name, and none that a killed run may have left.
  std::array<char, 64> name{};
  if (rank_ == 0)
    fmt::format_to_n(name.data(), name.size() - 1, "/trainer-{}-{}", getpid(),
                     std::chrono::steady_clock::now().time_since_epoch().count());
  broadcast(std::as_writable_bytes(std::span(name)), 0);

  std::unique_ptr<NamedMemory> memory;
  if (rank_ == 0) memory = NamedMemory::create(name.data(), bytes);
  if (!all_agree(rank_ != 0 || memory)) return nullptr;
  if (rank_ != 0) memory = NamedMemory::open(name.data(), bytes);
  const bool reserved = all_agree(memory && memory->reserve(rank_, size_));
  if (rank_ == 0) NamedMemory::remove_name(name.data());
  if (!reserved || !all_agree(memory->map())) return nullptr;
  return memory;
}

void MpiCommunicator::abort(ExitCode code) {
  const Heartbeat::Waiting waiting(heartbeat_, "the end of all ranks");
  std::fflush(nullptr);
  for (const int output : {STDOUT_FILENO, STDERR_FILENO}) wait_until_read(output);
  // The failing rank has printed its message; MPI's own lines would bury it.
  if (const int nowhere = open("/dev/null", O_WRONLY); nowhere >= 0) dup2(nowhere, STDERR_FILENO);
  MPI_Abort(MPI_COMM_WORLD, static_cast<int>(code));
  std::_Exit(static_cast<int>(code));
}

}  // namespace trainer
