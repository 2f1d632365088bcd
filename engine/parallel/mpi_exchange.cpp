#include "engine/parallel/mpi_exchange.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "engine/parallel/sum_in_order.h"

namespace trainer {
namespace {

/// A tag is used again when the exchange that had it is long over.
constexpr std::int64_t kTags = 1 << 14;
/// Chunks of a message that are expected at a time, and chunks on their way to a rank: sockets buffer them.
constexpr std::int64_t kExpectedChunks = 8, kSentChunks = 4;
/// After so many polls in vain an exchange that is waited for overtakes others.
constexpr int kPollsInVain = 32;
/// Messages of so many bytes do not wait until chunks of others have left.
constexpr std::int64_t kShortMessage = 4 << 10;
/// MPI counts in int.
constexpr std::int64_t kChunkOnHost = 1 << 30;

}  // namespace

MpiExchange::MpiExchange(MpiGroup& group, const char* what)
    : group_(group), what_(what), tag_(static_cast<int>(group.exchanges++ % kTags)) {}

MpiExchange::~MpiExchange() {
  const MpiProgress::Lock lock = group_.progress.enter();
  group_.progress.remove(*this);
  if (!complete_ || error_ != MPI_SUCCESS) abandon();
}

/// After an exception: MPI must not write to memory that is gone. Other ranks may be gone, too, so it does
/// not wait for long.
void MpiExchange::abandon() noexcept {
  using namespace std::chrono_literals;
  for (std::size_t request = 0; request < requests_.size(); ++request)
    if (is_under_way(request) && !message_of(request).source) MPI_Cancel(&requests_[request]);
  for (const Message& message : messages_)
    if (group_.between_hosts && message.source) sends_to(message) -= message.under_way;
  const auto deadline = std::chrono::steady_clock::now() + 1s;
  for (int done = 0; done == 0 && std::chrono::steady_clock::now() < deadline;) {
    if (MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &done, MPI_STATUSES_IGNORE) !=
        MPI_SUCCESS)
      return;
    if (done == 0) std::this_thread::sleep_for(100us);
  }
}

void MpiExchange::add(const void* source, void* target, std::int64_t count, std::size_t size, int peer,
                      bool are_floats) {
  if (count > 0)
    messages_.push_back({static_cast<const std::byte*>(source), static_cast<std::byte*>(target),
                         count * static_cast<std::int64_t>(size), peer, are_floats && group_.between_hosts});
}

void MpiExchange::start() {
  const MpiProgress::Lock lock = group_.progress.enter();
  const std::int64_t chunk = group_.between_hosts ? kChunkBetweenHosts : kChunkOnHost;
  for (std::size_t index = 0; index < messages_.size(); ++index) {
    Message& message = messages_[index];
    const std::int64_t chunks = (message.bytes + chunk - 1) / chunk;
    chunks_left_ += chunks;
    message.first_request = message_of_.size();
    message.requests = static_cast<int>(std::min(chunks, message.source ? kSentChunks : kExpectedChunks));
    message_of_.insert(message_of_.end(), static_cast<std::size_t>(message.requests),
                       static_cast<int>(index));
  }
  requests_.resize(message_of_.size(), MPI_REQUEST_NULL);
  chunks_.resize(message_of_.size());
  finished_.resize(message_of_.size());
  statuses_.resize(message_of_.size());
  for (Message& message : messages_)  // a message that is expected is not copied
    if (!message.source) begin_chunks(message);
  if (!advance() && group_.between_hosts) group_.progress.add(*this);
  if (complete_) check_mpi(error_, "an exchange of messages");
}

bool MpiExchange::may_begin(const Message& message) const {
  if (message.begun == message.bytes || message.under_way == message.requests) return false;
  if (!group_.between_hosts || !message.source || message.bytes <= kShortMessage) return true;
  // The receiver may wait for this exchange before it starts those that started earlier here.
  if (overtakes_ && message.under_way == 0) return true;
  return sends_to(message) < kSentChunks;
}

bool MpiExchange::begin_chunks() noexcept {
  bool any = false;
  for (Message& message : messages_) any |= begin_chunks(message);
  return any;
}

bool MpiExchange::begin_chunks(Message& message) noexcept {
  bool any = false;
  std::size_t request = message.first_request;
  for (; error_ == MPI_SUCCESS && may_begin(message); any = true) {
    while (is_under_way(request)) ++request;
    begin_chunk(message, request);
  }
  return any;
}

void MpiExchange::begin_chunk(Message& message, std::size_t request) noexcept {
  Chunk& chunk = chunks_[request];
  chunk.first = message.begun;
  chunk.bytes =
      std::min(group_.between_hosts ? kChunkBetweenHosts : kChunkOnHost, message.bytes - message.begun);
  message.begun += chunk.bytes;
  ++message.under_way;
  const auto count = static_cast<int>(chunk.bytes);
  if (!message.source) {
    error_ = MPI_Irecv(message.target + chunk.first, count, MPI_BYTE, message.peer, tag_, group_.handle,
                       &requests_[request]);
    return;
  }
  std::span<const std::byte> bytes(message.source + chunk.first, static_cast<std::size_t>(count));
  if (message.may_be_encoded && group_.progress.codes.are_used() && message.bytes > kShortMessage)
    chunk.code = group_.progress.codes.encode(bytes);
  if (chunk.code) bytes = std::span(chunk.code->buffer).first(static_cast<std::size_t>(chunk.code->bytes));
  error_ = MPI_Isend(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, message.peer, tag_,
                     group_.handle, &requests_[request]);
  if (group_.between_hosts) ++sends_to(message);
}

void MpiExchange::finish_chunk(std::size_t request, const MPI_Status& status) noexcept {
  Message& message = message_of(request);
  Chunk& chunk = chunks_[request];
  --message.under_way;
  --chunks_left_;
  if (message.source) {
    if (group_.between_hosts) --sends_to(message);
    group_.progress.codes.give_back(std::move(chunk.code));
  } else if (message.may_be_encoded) {
    decode_chunk(message, chunk, status);
  }
}

void MpiExchange::decode_chunk(const Message& message, const Chunk& chunk,
                               const MPI_Status& status) noexcept {
  int bytes = 0;
  if (const int code = MPI_Get_count(&status, MPI_BYTE, &bytes); code != MPI_SUCCESS) {
    error_ = code;
    return;
  }
  const std::span<std::byte> floats(message.target + chunk.first, static_cast<std::size_t>(chunk.bytes));
  if (bytes < chunk.bytes && !group_.progress.codes.decode(floats, bytes)) error_ = MPI_ERR_TRUNCATE;
}

bool MpiExchange::advance() noexcept {
  while (!complete_.load(std::memory_order_relaxed)) {
    int count = 0;
    if (error_ == MPI_SUCCESS)
      error_ = MPI_Testsome(static_cast<int>(requests_.size()), requests_.data(), &count, finished_.data(),
                            statuses_.data());
    if (error_ != MPI_SUCCESS || count == MPI_UNDEFINED) count = 0;
    for (int i = 0; i < count; ++i)
      finish_chunk(static_cast<std::size_t>(finished_[static_cast<std::size_t>(i)]),
                   statuses_[static_cast<std::size_t>(i)]);
    const bool begins = begin_chunks();
    if (error_ != MPI_SUCCESS || chunks_left_ == 0)
      complete_.store(true, std::memory_order_release);
    else if (count == 0 && !begins)
      return false;
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
    polls_in_vain_ = chunks_left_ == known ? polls_in_vain_ + 1 : 0;
    overtakes_ |= polls_in_vain_ == kPollsInVain;
    if (!done && chunks_left_ != known) {
      known = chunks_left_;
      const auto message = std::ranges::find_if(messages_, [](const Message& candidate) {
        return candidate.under_way > 0 || candidate.begun < candidate.bytes;
      });
      waiting.for_rank(world_rank(*message));
    }
    return done;
  });
  check_mpi(error_, "an exchange of messages");
}

MpiReduceScatter::MpiReduceScatter(MpiGroup& group, const std::vector<std::span<float>>& slices,
                                   std::vector<MessageBuffer>& spare_buffers)
    : spare_buffers_(spare_buffers), exchange_(group), mine_(slices[static_cast<std::size_t>(group.rank)]) {
  received_ = take_spare(spare_buffers_, mine_.size() * (slices.size() - 1));
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
