#include "engine/parallel/window_reducer.h"

#include "engine/core/bfloat16.h"
#include "engine/parallel/bucket_plan.h"
#include "engine/parallel/split_sum.h"

namespace trainer {

WindowReducer::WindowReducer(ThreadPool& pool, ParameterWindow& window)
    : pool_(pool), memory_(window), progress_(window, pool.size()) {}

void WindowReducer::begin() {
  progress_.begin();
  summed_ = 0;
}

void WindowReducer::ready(int worker, std::int64_t offset) {
  progress_.advance(worker, offset);
  // Several threads share the sums in finish() instead.
  if (pool_.size() == 1) sum_finished(nullptr);
}

void WindowReducer::finish() {
  progress_.check_end();
  const auto buckets = static_cast<int>(memory_.plan().buckets().size());
  while (summed_ < buckets) {
    progress_.wait_for(summed_);
    sum_finished(&pool_);
  }
}

void WindowReducer::sum_finished(ThreadPool* pool) {
  const int first = summed_, last = summed_ = progress_.finished_buckets();
  if ((!sums() && !rounds()) || first == last) return;
  const ShardPlan& plan = memory_.plan();
  std::int64_t floats = 0;
  for (int bucket = first; bucket < last; ++bucket) floats += plan.lane_slice(bucket).count();
  split_sum(floats, pool, [&](int part, int parts) {
    float* const sum = memory_.gradients(0).data();
    for (int bucket = first; bucket < last; ++bucket) {
      const Range range = slice(plan.lane_slice(bucket), part, parts);
      memory_.tree().sum(memory_.window().all_gradients(), {&sum, 1}, range.first, range.last);
      if (rounds()) round_to_bfloat16(memory_.sums(range));
    }
  });
}

void WindowReducer::start_publish() { memory_.window().barrier("the barrier after the update"); }

std::vector<Range> WindowReducer::overwritten() const {
  if (!sums() && !rounds()) return {};
  return {memory_.shard().begin(), memory_.shard().end()};
}

}  // namespace trainer
