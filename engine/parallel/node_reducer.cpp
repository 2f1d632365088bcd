#include "engine/parallel/node_reducer.h"

#include <algorithm>

#include "engine/parallel/bucket_plan.h"
#include "engine/parallel/split_sum.h"
#include "engine/system/wait_until.h"

namespace trainer {

NodeReducer::NodeReducer(Mesh& mesh, ThreadPool& pool, ParameterWindow& window)
    : pool_(pool), memory_(window), heartbeat_(mesh.world().heartbeat()), progress_(window, pool.size()) {
  exchanges_.reserve(window.plan().buckets().size());
  times_.reserve(window.plan().buckets().size());
  if (plan().nodes() > 0 && window.compression().is_bf16()) wire_.emplace(plan().lane());
}

void NodeReducer::begin() {
  progress_.begin();
  summed_ = 0;
  completed_.store(0);
  exchanges_.clear();
  times_.clear();
}

void NodeReducer::sum_in_node(int bucket, int part, int parts) {
  if (memory_.tree().inputs() == 1) return;
  const Range range = slice(plan().lane_slice(bucket), part, parts);
  float* const sum = memory_.gradients(0).data();
  memory_.tree().sum(memory_.window().all_gradients(), {&sum, 1}, range.first, range.last);
}

void NodeReducer::ready(int worker, std::int64_t offset) {
  progress_.advance(worker, offset);
  if (worker == 0) poll(nullptr);
  if (memory_.shards_gradients()) keep_pace(worker);
}

void NodeReducer::keep_pace(int worker) {
  const std::int64_t needed = progress_.buckets(worker) - 1;
  if (completed_.load() >= needed) return;
  if (worker > 0)
    return pool_.wait([&] { return completed_.load() >= needed; }, [&] { completed_.sleep_below(needed); });
  Heartbeat::Waiting waiting(heartbeat_, "the sum of a bucket", static_cast<int>(needed - 1));
  pool_.wait(
      [&] {
        poll(nullptr);
        return completed_.load() >= needed;
      },
      [] { nap(); });
}

void NodeReducer::finish() {
  progress_.check_end();
  const auto buckets = static_cast<int>(plan().buckets().size());
  {
    Heartbeat::Waiting waiting(heartbeat_, "the gradients of this node", summed_);
    wait_until(
        [&] {
          poll(&pool_);
          waiting.for_bucket(summed_);
          return summed_ == buckets;
        },
        memory_.oversubscribed());
  }
  {
    Heartbeat::Waiting waiting(heartbeat_, "the gradients of other nodes", 0);
    for (std::size_t bucket = 0; bucket < exchanges_.size(); ++bucket) {
      waiting.for_bucket(static_cast<int>(bucket));
      if (exchanges_[bucket]) exchanges_[bucket]->wait();
      if (exchanges_[bucket]) test(bucket);
      if (memory_.shards_gradients()) complete_buckets(&pool_);
    }
  }
  if (plan().nodes() > 0 && !memory_.shards_gradients()) sum_received(0, buckets, &pool_);
  exchanges_.clear();  // gives their memory back
}

void NodeReducer::poll(ThreadPool* pool) {
  const int first = summed_, last = summed_ = progress_.finished_buckets();
  if (plan().nodes() == 0) return;
  std::int64_t floats = 0;
  for (int bucket = first; bucket < last; ++bucket) floats += plan().lane_slice(bucket).count();
  for (int bucket = first; bucket < last; ++bucket) {
    memory_.commit_gradients(plan().buckets()[static_cast<std::size_t>(bucket)]);
    open(bucket);
  }
  if (first < last)
    split_sum(floats, pool, [&](int part, int parts) {
      for (int bucket = first; bucket < last; ++bucket) sum_in_node(bucket, part, parts);
    });
  for (int bucket = first; bucket < last; ++bucket) {
    times_.push_back({.begin = std::chrono::steady_clock::now(), .end = {}});
    exchanges_.push_back(start_exchange(bucket));
  }
  if (memory_.shards_gradients()) return complete_buckets(pool);
  for (std::size_t bucket = 0; bucket < exchanges_.size(); ++bucket) test(bucket);
}

bool NodeReducer::test(std::size_t bucket) {
  if (!exchanges_[bucket]->test()) return false;
  auto& end = times_[bucket].end;
  if (end == std::chrono::steady_clock::time_point()) end = std::chrono::steady_clock::now();
  return true;
}

void NodeReducer::complete_buckets(ThreadPool* pool) {
  auto bucket = static_cast<std::size_t>(completed_.load());
  for (; bucket < exchanges_.size() && test(bucket); ++bucket) {
    const auto index = static_cast<int>(bucket);
    sum_received(index, index + 1, pool);
    exchanges_[bucket].reset();
    close(index);
    memory_.release_gradients(plan().buckets()[bucket]);
    completed_.store(index + 1);
  }
  for (; bucket < exchanges_.size(); ++bucket) test(bucket);
}

std::span<float> NodeReducer::values(const Range& range) {
  return memory_.values().subspan(static_cast<std::size_t>(range.first),
                                  static_cast<std::size_t>(range.count()));
}

void NodeReducer::start_publish() { start_arrivals(false); }

void NodeReducer::start_publish_update() { start_arrivals(memory_.compression().is_bf16()); }

void NodeReducer::updated(std::int64_t end) {
  if (plan().replicated() || plan().nodes() == 0 || !plan().one_rank_per_node()) return;
  if (!is_publishing_) begin_arrivals();
  while (next_arrival() >= 0 && plan().my_slice(next_arrival()).last <= end)
    start_arrival(memory_.compression().is_bf16());
}

void NodeReducer::begin_arrivals() {
  is_publishing_ = true;
  arrivals_.clear();
  received_ = 0;
  arrived_.store(plan().replicated() ? std::ssize(memory_.values()) : 0);
}

void NodeReducer::start_arrivals(bool of_changes) {
  if (!is_publishing_) begin_arrivals();
  is_publishing_ = false;
  if (plan().replicated()) return;
  while (plan().nodes() > 0 && next_arrival() >= 0) start_arrival(of_changes);
  // Other ranks of the node receive other parts of what this rank reads.
  if (!plan().one_rank_per_node()) receive();
}

void NodeReducer::start_arrival(bool of_changes) {
  const int bucket = next_arrival();
  const Range mine = plan().my_slice(bucket);
  const std::span<float> all = values(plan().lane_slice(bucket));
  const auto counts = plan().counts(bucket);
  arrivals_.push_back(of_changes ? wire_->start_all_gather_changes(memory_.sums(mine), all, counts)
                                 : plan().lane().start_all_gather(values(mine), all, counts));
}

void NodeReducer::receive() {
  while (received_ < arrivals_.size()) receive_next();
  if (plan().one_rank_per_node() || arrived_.load() == std::ssize(memory_.values())) return;
  memory_.window().barrier("the barrier after the update");
  arrived_.store(std::ssize(memory_.values()));
}

void NodeReducer::receive_next() {
  const std::size_t bucket = arrivals_.size() - received_ - 1;
  const Heartbeat::Waiting waiting(heartbeat_, "the new parameters of other nodes", static_cast<int>(bucket));
  arrivals_[received_++]->wait();
  if (plan().one_rank_per_node()) arrived_.store(plan().buckets()[bucket].last);
}

void NodeReducer::acquire(int worker, std::span<const Range> parameters) {
  std::int64_t end = 0;
  for (const Range& range : parameters) end = std::max(end, range.last);
  if (arrived_.load() >= end) return;
  if (worker > 0)  // worker 0 is on its way to the same place, and receives
    return pool_.wait([&] { return arrived_.load() >= end; }, [&] { arrived_.sleep_below(end); });
  const auto begun = std::chrono::steady_clock::now();
  while (arrived_.load() < end) receive_next();
  waiting_time_ += std::chrono::steady_clock::now() - begun;
}

}  // namespace trainer
