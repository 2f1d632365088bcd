#include "engine/parallel/node_reducer.h"

#include "engine/parallel/split_sum.h"
#include "engine/system/wait_until.h"

namespace trainer {

NodeReducer::NodeReducer(Mesh& mesh, ThreadPool& pool, ParameterWindow& window)
    : pool_(pool), memory_(window), heartbeat_(mesh.world().heartbeat()), progress_(window, pool.size()) {
  exchanges_.reserve(window.plan().buckets().size());
}

void NodeReducer::begin() {
  progress_.begin();
  summed_ = 0;
  exchanges_.clear();
}

void NodeReducer::ready(int worker, std::int64_t offset) {
  progress_.advance(worker, offset);
  if (worker == 0) poll(nullptr);
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
        memory_.crowded());
  }
  wait_for_exchanges("the gradients of other nodes");
  if (plan().nodes() > 0) sum_received();
}

void NodeReducer::poll(ThreadPool* pool) {
  const int first = summed_, last = summed_ = progress_.finished_buckets();
  if (plan().nodes() == 0) return;
  std::int64_t floats = 0;
  for (int bucket = first; bucket < last; ++bucket) floats += plan().lane_slice(bucket).count();
  if (first < last)
    split_sum(floats, pool, [&](int part, int parts) {
      for (int bucket = first; bucket < last; ++bucket) sum_in_node(bucket, part, parts);
    });
  for (int bucket = first; bucket < last; ++bucket) exchanges_.push_back(start_exchange(bucket));
  for (const auto& exchange : exchanges_) exchange->test();
}

void NodeReducer::publish() {
  exchanges_.clear();
  const std::span<float> values = memory_.values();
  const auto part = [&](const Range& range) {
    return values.subspan(static_cast<std::size_t>(range.first), static_cast<std::size_t>(range.count()));
  };
  for (int bucket = 0; plan().nodes() > 0 && bucket < std::ssize(plan().buckets()); ++bucket)
    exchanges_.push_back(plan().lane().start_all_gather(
        part(plan().my_slice(bucket)), part(plan().lane_slice(bucket)), plan().counts(bucket)));
  wait_for_exchanges("the new parameters of other nodes");
  memory_.window().barrier("the barrier after the update");
}

void NodeReducer::wait_for_exchanges(const char* what) {
  if (exchanges_.empty()) return;
  Heartbeat::Waiting waiting(heartbeat_, what, 0);
  int bucket = 0;
  for (const auto& exchange : exchanges_) {
    waiting.for_bucket(bucket++);
    exchange->wait();
  }
}

}  // namespace trainer
