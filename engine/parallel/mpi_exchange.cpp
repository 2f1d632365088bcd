#include "engine/parallel/mpi_exchange.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "engine/parallel/sum_in_order.h"

namespace trainer {
namespace {

/// A tag is used again when the exchange that had it is long over.
constexpr std::int64_t kTags = 1 << 14;
/// Chunks of a message that are under way at a time: enough to fill what sockets buffer.
constexpr std::int64_t kChunksUnderWay = 8;
/// Open MPI sends up to 64 KiB over TCP without asking first (btl_tcp_eager_limit), its own header included.
constexpr std::int64_t kChunkBetweenHosts = 60 << 10;
/// MPI counts in int.
constexpr std::int64_t kChunkOnHost = 1 << 30;

}  // namespace

MpiExchange::MpiExchange(MpiGroup& group, const char* what)
    : group_(group), what_(what), tag_(static_cast<int>(group.exchanges++ % kTags)) {}

MpiExchange::~MpiExchange() {
  const MpiProgress::Lock lock = group_.progress.enter();
  group_.progress.remove(*this);
  if (!complete_) abandon();
}

/// After an exception: MPI must not write to memory that is gone. Other ranks may be gone, too, so it does
/// not wait for long.
void MpiExchange::abandon() noexcept {
  using namespace std::chrono_literals;
  for (std::size_t request = 0; request < requests_.size(); ++request)
    if (is_under_way(request) && !message_of(request).source) MPI_Cancel(&requests_[request]);
  const auto deadline = std::chrono::steady_clock::now() + 1s;
  for (int done = 0; done == 0 && std::chrono::steady_clock::now() < deadline;) {
    if (MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &done, MPI_STATUSES_IGNORE) !=
        MPI_SUCCESS)
      return;
    if (done == 0) std::this_thread::sleep_for(100us);
  }
}

void MpiExchange::add(const void* source, void* target, std::int64_t count, std::size_t size, int peer) {
  if (count > 0)
    messages_.push_back({static_cast<const std::byte*>(source), static_cast<std::byte*>(target),
                         count * static_cast<std::int64_t>(size), peer});
}

void MpiExchange::start() {
  const MpiProgress::Lock lock = group_.progress.enter();
  const std::int64_t chunk = group_.between_hosts ? kChunkBetweenHosts : kChunkOnHost;
  for (std::size_t index = 0; index < messages_.size(); ++index) {
    const std::int64_t chunks = (messages_[index].bytes + chunk - 1) / chunk;
    chunks_left_ += chunks;
    message_of_.resize(message_of_.size() + static_cast<std::size_t>(std::min(chunks, kChunksUnderWay)),
                       static_cast<int>(index));
  }
  requests_.resize(message_of_.size(), MPI_REQUEST_NULL);
  finished_.resize(message_of_.size());
  for (const bool sends : {false, true})  // a message that is expected is not copied
    for (std::size_t request = 0; request < requests_.size(); ++request)
      if (sends == (message_of(request).source != nullptr))
        check_mpi(begin_chunk(request), sends ? "MPI_Isend" : "MPI_Irecv");
  if (!advance() && group_.between_hosts) group_.progress.add(*this);
}

int MpiExchange::begin_chunk(std::size_t request) {
  Message& message = message_of(request);
  const std::int64_t first = message.begun;
  const auto count = static_cast<int>(
      std::min(group_.between_hosts ? kChunkBetweenHosts : kChunkOnHost, message.bytes - first));
  if (count == 0) return MPI_SUCCESS;
  message.begun += count;
  if (message.source)
    return MPI_Isend(message.source + first, count, MPI_BYTE, message.peer, tag_, group_.handle,
                     &requests_[request]);
  return MPI_Irecv(message.target + first, count, MPI_BYTE, message.peer, tag_, group_.handle,
                   &requests_[request]);
}

bool MpiExchange::advance() noexcept {
  while (!complete_.load(std::memory_order_relaxed)) {
    int count = 0;
    error_ = MPI_Testsome(static_cast<int>(requests_.size()), requests_.data(), &count, finished_.data(),
                          MPI_STATUSES_IGNORE);
    if (error_ == MPI_SUCCESS && count == 0) return false;
    if (count == MPI_UNDEFINED) count = 0;
    chunks_left_ -= count;
    for (int i = 0; i < count && error_ == MPI_SUCCESS; ++i)
      error_ = begin_chunk(static_cast<std::size_t>(finished_[static_cast<std::size_t>(i)]));
    if (error_ != MPI_SUCCESS || chunks_left_ == 0) complete_.store(true, std::memory_order_release);
  }
  return true;
}

bool MpiExchange::test() {
  if (!complete_.load(std::memory_order_acquire)) {
    if (group_.between_hosts) return false;  // the background thread is at it
    const MpiProgress::Lock lock = group_.progress.enter();
    if (!advance()) return false;
  }
  check_mpi(error_, "an exchange of messages");
  return true;
}

void MpiExchange::wait() {
  Heartbeat::Waiting waiting(group_.heartbeat, what_);
  std::int64_t known = -1;
  group_.progress.wait(group_.between_hosts, [&] {
    const bool done = advance();
    if (!done && chunks_left_ != known) {
      known = chunks_left_;
      std::size_t request = 0;
      while (!is_under_way(request)) ++request;
      const Message& message = message_of(request);
      waiting.for_rank(group_.world_ranks[static_cast<std::size_t>(message.peer)]);
    }
    return done;
  });
  check_mpi(error_, "an exchange of messages");
}

MpiReduceScatter::MpiReduceScatter(MpiGroup& group, const std::vector<std::span<float>>& slices,
                                   std::vector<std::vector<float>>& spare_buffers)
    : spare_buffers_(spare_buffers), exchange_(group), mine_(slices[static_cast<std::size_t>(group.rank)]) {
  if (!spare_buffers_.empty()) {
    received_ = std::move(spare_buffers_.back());
    spare_buffers_.pop_back();
  }
  received_.resize(mine_.size() * (slices.size() - 1));
  sources_.resize(slices.size(), mine_.data());
  std::span<float> room(received_);
  for (int distance = 1; distance < group.size(); ++distance) {
    const int source = group.before(distance), target = group.after(distance);
    sources_[static_cast<std::size_t>(source)] = room.data();
    exchange_.receive(room.first(mine_.size()), source);
    room = room.subspan(mine_.size());
    exchange_.send<float>(slices[static_cast<std::size_t>(target)], target);
  }
  exchange_.start();
}

bool MpiReduceScatter::test() {
  if (!summed_ && exchange_.test()) add();
  return summed_;
}

void MpiReduceScatter::wait() {
  if (summed_) return;
  exchange_.wait();
  add();
}

void MpiReduceScatter::add() {
  sum_in_order(sources_, mine_.data(), 0, std::ssize(mine_));
  summed_ = true;
}

}  // namespace trainer
