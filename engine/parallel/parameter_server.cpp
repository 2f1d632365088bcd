#include "engine/parallel/parameter_server.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <chrono>

#include "engine/parallel/window_parts.h"

namespace trainer {
namespace {

constexpr std::int64_t kLine = 64;  // bytes; what different ranks write lies on different cache lines
// Offsets of counters from a header and from an answer.
constexpr std::int64_t kGiven = kLine, kAsked = kLine + 8, kLeft = kLine + 16;
constexpr std::int64_t kTaken = kLine, kAnswered = kLine + 8;

/// Sleeps between polls, longer after each that finds nothing.
class Backoff {
 public:
  void sleep() {
    std::this_thread::sleep_for(time_);
    time_ = std::min<std::chrono::nanoseconds>(time_ + time_ / 8, kLongest);
  }
  void reset() { time_ = kShortest; }

 private:
  static constexpr std::chrono::microseconds kShortest{20}, kLongest{200};
  std::chrono::nanoseconds time_ = kShortest;
};

template <class T>
std::span<const std::byte> bytes_of_value(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}

}  // namespace

/// What a worker writes beside its gradient.
struct ParameterServer::Header {
  std::int64_t unit = -1;
  double share = 0;
  std::int64_t ends_early = 0;
};

/// What an owner writes beside the values.
struct ParameterServer::Answer {
  std::int64_t unit = -1;  ///< of rank 0; -1: there is none
  std::int64_t end = 0;    ///< of the units
  std::int64_t staleness = 0;
};

ParameterServer::ParameterServer(Communicator& ranks, const Options& options)
    : ranks_(ranks),
      options_(options),
      asked_(static_cast<std::size_t>(ranks.size())),
      order_(ranks.size(), options.bound),
      workers_(static_cast<std::size_t>(ranks.size())) {
  std::vector<std::int64_t> ends(static_cast<std::size_t>(2 * ranks.size()));
  ends[static_cast<std::size_t>(2 * ranks.rank())] = options.shard.first;
  ends[static_cast<std::size_t>(2 * ranks.rank() + 1)] = options.shard.last;
  ranks.sum(ends);
  for (std::size_t rank = 0; rank < ends.size(); rank += 2) shards_.push_back({ends[rank], ends[rank + 1]});
  memory_ = ranks.remote_memory(bytes());
  count_ = CountedBytes(MemoryKind::messages, bytes());
}

int ParameterServer::workers_at_a_time() const {
  return static_cast<int>(std::min<std::int64_t>(ranks_.size(), options_.bound + 1));
}

// The memory of a rank. Owners write to its worker: the values of all parameters, then from each owner an
// answer and its counters. Workers write to its shard: from each a header and its counters, then on rank 0
// the notes of each, then the gradients of each.
std::int64_t ParameterServer::offset_of_answer(int owner) const {
  return bytes_of<float>(options_.floats) + 2 * kLine * owner;
}

std::int64_t ParameterServer::offset_of_header(int worker) const {
  return offset_of_answer(ranks_.size()) + 2 * kLine * worker;
}

std::int64_t ParameterServer::offset_of_notes(int worker) const {
  return offset_of_header(ranks_.size()) + bytes_of<double>(options_.notes) * worker;
}

std::int64_t ParameterServer::offset_of_gradient(int owner, int worker) const {
  const std::int64_t first = owner == 0 ? offset_of_notes(ranks_.size()) : offset_of_header(ranks_.size());
  return first + bytes_of<float>(shards_[static_cast<std::size_t>(owner)].count()) * worker;
}

std::int64_t ParameterServer::bytes() const { return offset_of_gradient(ranks_.rank(), ranks_.size()); }

template <class T>
T& ParameterServer::at(std::int64_t offset) {
  return *reinterpret_cast<T*>(memory_->own().data() + offset);
}

void ParameterServer::begin(const Range& units, std::int64_t version, Owner& owner) {
  ++stretch_;
  owner_ = &owner;
  units_ = units;
  first_unit_ = units.first;
  units_end_ = units.last;
  order_.set_version(version);
  for (Worker& worker : workers_) worker.has_left = false;
  // Signals are for the main thread.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::jthread([this](const std::stop_token& stop) {
    try {
      serve(stop);
    } catch (...) {
      problem_ = std::current_exception();
      has_failed_ = true;
    }
  });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  ask(0, is_gated() ? 1 : ranks_.size());
}

void ParameterServer::ask(int first_owner, int last_owner) {
  std::vector<RemoteMemory::Counter> counters;
  for (int owner = first_owner; owner < last_owner; ++owner)
    counters.push_back({.rank = owner,
                        .offset = offset_of_header(ranks_.rank()) + kAsked,
                        .value = ++asked_[static_cast<std::size_t>(owner)]});
  memory_->set(counters);
}

void ParameterServer::set_at_owners(std::int64_t counter, std::int64_t value) {
  std::vector<RemoteMemory::Counter> counters;
  for (int owner = 0; owner < ranks_.size(); ++owner)
    counters.push_back({owner, offset_of_header(ranks_.rank()) + counter, value});
  memory_->set(counters);
}

/// Waits for a counter behind an owner's answer.
void ParameterServer::wait_for(int owner, std::int64_t counter, std::int64_t count) {
  const std::int64_t offset = offset_of_answer(owner) + counter;
  Heartbeat::Waiting waiting(ranks_.heartbeat(), "the parameters");
  waiting.for_rank(ranks_.world_rank(owner));
  for (Backoff backoff; memory_->count(offset) < count; backoff.sleep()) {
    if (has_failed_) std::rethrow_exception(problem_);
    memory_->receive();
  }
}

void ParameterServer::take_staleness() {
  staleness_ = 0;
  for (int owner = 0; owner < ranks_.size(); ++owner)
    staleness_ = std::max(staleness_, at<const Answer>(offset_of_answer(owner)).staleness);
}

std::optional<std::int64_t> ParameterServer::next(std::span<float> values) {
  const auto wait_for_answer = [&](int owner) {
    wait_for(owner, kAnswered, asked_[static_cast<std::size_t>(owner)] + (is_gated() ? 0 : given_));
  };
  wait_for_answer(0);
  const Answer first = at<const Answer>(offset_of_answer(0));
  if (is_gated() && first.unit >= 0) ask(1, ranks_.size());
  for (int owner = 1; owner < ranks_.size(); ++owner) wait_for_answer(owner);
  if (!is_gated()) take_staleness();
  if (first.unit < 0) {
    units_end_ = first.end;
    set_at_owners(kLeft, stretch_);
    return std::nullopt;
  }
  std::ranges::copy(std::span(&at<const float>(0), values.size()), values.begin());
  return first.unit;
}

void ParameterServer::give(const Result& result) {
  write_result(result);
  set_at_owners(kGiven, ++given_);
  if (!is_gated()) return;  // a result is a question, too
  for (int owner = 0; owner < ranks_.size(); ++owner) wait_for(owner, kTaken, given_);
  take_staleness();
  ask(0, 1);
}

void ParameterServer::write_result(const Result& result) {
  const Header header{.unit = result.unit, .share = result.share, .ends_early = result.ends_early ? 1 : 0};
  const int me = ranks_.rank();
  std::vector<RemoteMemory::Message> messages{{0, offset_of_notes(me), std::as_bytes(result.notes)}};
  // The next rank first, so that no owner gets all gradients at once.
  for (int distance = 1; distance <= ranks_.size(); ++distance) {
    const int owner = (me + distance) % ranks_.size();
    const Range& shard = shards_[static_cast<std::size_t>(owner)];
    messages.push_back({owner, offset_of_header(me), bytes_of_value(header)});
    if (result.share > 0)
      messages.push_back({owner, offset_of_gradient(owner, me),
                          std::as_bytes(result.gradient.subspan(static_cast<std::size_t>(shard.first),
                                                                static_cast<std::size_t>(shard.count())))});
  }
  memory_->write(messages);
}

void ParameterServer::leave() {
  const Header header{.ends_early = 1};
  const RemoteMemory::Message message{0, offset_of_header(ranks_.rank()), bytes_of_value(header)};
  memory_->write({&message, 1});
  set_at_owners(kLeft, stretch_);
}

std::int64_t ParameterServer::end() {
  Heartbeat::Waiting waiting(ranks_.heartbeat(), "the gradients of other ranks");
  thread_.join();
  if (has_failed_) std::rethrow_exception(problem_);
  return units_end_;
}

void ParameterServer::close() {
  memory_->close();
  count_ = {};
}

void ParameterServer::serve(const std::stop_token& stop) {
  for (Backoff backoff; !stop.stop_requested();) {
    memory_->receive();
    const bool takes = take_gradients(), answers = answer_workers();
    if (have_all_left()) return;
    takes || answers ? backoff.reset() : backoff.sleep();
  }
}

/// The worker with the oldest result that is not taken; -1: there is none.
int ParameterServer::oldest_given() const {
  int oldest = -1;
  for (int worker = 0; worker < ranks_.size(); ++worker)
    if (memory_->count(offset_of_header(worker) + kGiven) >
            workers_[static_cast<std::size_t>(worker)].taken &&
        (oldest < 0 || order_.version_of(worker) < order_.version_of(oldest)))
      oldest = worker;
  return oldest;
}

bool ParameterServer::take_gradients() {
  bool any = false;
  // The oldest first: if it has to wait, all have to.
  for (int worker = oldest_given(); worker >= 0; worker = oldest_given()) {
    const Header header = at<const Header>(offset_of_header(worker));
    if (header.share > 0 && !order_.may_update(worker)) break;
    take_result(worker, header);
    any = true;
  }
  return any;
}

void ParameterServer::take_result(int worker, const Header& header) {
  Worker& self = workers_[static_cast<std::size_t>(worker)];
  ++self.taken;
  self.staleness = 0;
  if (header.share > 0) {
    const auto shard = static_cast<std::size_t>(options_.shard.count());
    owner_->update(header.unit, header.share,
                   {&at<const float>(offset_of_gradient(ranks_.rank(), worker)), shard}, order_.version());
    self.staleness = order_.update(worker);
  } else {
    order_.leave(worker);
  }
  if (ranks_.rank() == 0) {
    owner_->take_notes(
        header.unit, {&at<const double>(offset_of_notes(worker)), static_cast<std::size_t>(options_.notes)});
    if (header.ends_early != 0) end_early();
  }
  if (!is_gated()) return;
  const std::int64_t offset = offset_of_answer(ranks_.rank());
  const Answer answer{.staleness = self.staleness};
  const RemoteMemory::Message message{worker, offset, bytes_of_value(answer)};
  memory_->write({&message, 1});
  const RemoteMemory::Counter counter{worker, offset + kTaken, self.taken};
  memory_->set({&counter, 1});
}

bool ParameterServer::answer_workers() {
  const std::int64_t offset = offset_of_answer(ranks_.rank());
  bool any = false;
  const int begin = turn_;
  for (int i = 0; i < ranks_.size(); ++i) {
    const int worker = (begin + i) % ranks_.size();
    Worker& self = workers_[static_cast<std::size_t>(worker)];
    const std::int64_t asked =
        memory_->count(offset_of_header(worker) + kAsked) + (is_gated() ? 0 : self.taken);
    if (asked == self.answered || order_.version_of(worker)) continue;
    const bool is_end = ranks_.rank() == 0 && units_.count() == 0;
    if (!is_end && !order_.may_read()) continue;
    any = true;
    turn_ = (worker + 1) % ranks_.size();
    Answer answer{.end = units_.last, .staleness = self.staleness};
    std::vector<RemoteMemory::Message> messages;
    messages.push_back({worker, offset, bytes_of_value(answer)});
    if (!is_end) {
      if (ranks_.rank() == 0) answer.unit = units_.first++;
      messages.push_back({worker, options_.shard.first * static_cast<std::int64_t>(sizeof(float)),
                          std::as_bytes(owner_->values(order_.under_way()))});
      order_.read(worker);
    }
    memory_->write(messages);
    const RemoteMemory::Counter counter{worker, offset + kAnswered, ++self.answered};
    memory_->set({&counter, 1});
  }
  return any;
}

bool ParameterServer::have_all_left() {
  for (int worker = 0; worker < ranks_.size(); ++worker) {
    Worker& self = workers_[static_cast<std::size_t>(worker)];
    if (self.has_left || memory_->count(offset_of_header(worker) + kLeft) < stretch_) continue;
    self.has_left = true;
    order_.leave(worker);
    if (ranks_.rank() == 0 && at<const Header>(offset_of_header(worker)).ends_early != 0) end_early();
  }
  return std::ranges::all_of(workers_, &Worker::has_left);
}

void ParameterServer::end_early() {
  const std::int64_t ranks = ranks_.size(), begun = (units_.first + ranks - 1) / ranks * ranks;
  units_.last = std::min(units_.last, std::max(begun, first_unit_ + ranks));
}

}  // namespace trainer
