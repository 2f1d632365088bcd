#include "engine/parallel/parameter_gathering.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "engine/core/index.h"
#include "engine/system/wait_until.h"

namespace trainer {

ParameterGathering::ParameterGathering(std::unique_ptr<GradientReducer> gradients, Mesh& mesh,
                                       ThreadPool& pool, ParameterWindow& window)
    : gradients_(std::move(gradients)),
      pool_(pool),
      memory_(window),
      ranks_(window.plan().lane().split(0, window.plan().lane().rank())),
      heartbeat_(mesh.world().heartbeat()),
      buckets_(window.plan().buckets().size()),
      workers_(at(pool.size())) {
  if (!plan().one_rank_per_node()) throw std::logic_error("ranks that share memory share its parameters");
  for (Worker& worker : workers_) worker.uses.resize(buckets_.size());
}

void ParameterGathering::finish() {
  gradients_->finish();
  const auto waited = waiting_time_;
  drop_all();
  waiting_time_ = waited;  // finish() is timed by its caller
}

std::chrono::nanoseconds ParameterGathering::take_waiting_time() {
  return gradients_->take_waiting_time() + std::exchange(waiting_time_, {});
}

std::vector<int> ParameterGathering::buckets_of(std::span<const Range> parameters) const {
  std::vector<int> found;
  const std::span<const Range> all = plan().buckets();  // from the end of the flat buffer to its beginning
  for (const Range& range : parameters)
    for (auto bucket = std::ranges::lower_bound(all, range.last, std::greater_equal(), &Range::first);
         bucket != all.end() && bucket->last > range.first; ++bucket)
      found.push_back(static_cast<int>(bucket - all.begin()));
  std::ranges::sort(found);
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

void ParameterGathering::acquire(int worker, std::span<const Range> parameters) {
  const std::vector<int> needed = buckets_of(parameters);
  if (needed.empty()) return;
  Worker& mine = workers_[at(worker)];
  drop_unused(worker, needed);
  for (const int bucket : needed)
    if (!mine.uses[at(bucket)].is_here) gather(worker, bucket);
  // The layers before went the same way: the next one probably needs the next bucket.
  const int way = mine.last < 0 || mine.last > needed.front() ? -1 : mine.last < needed.front() ? 1 : 0;
  const int next = way < 0 ? needed.front() - 1 : needed.back() + 1;
  mine.last = needed.front();
  if (way != 0 && next >= 0 && next < std::ssize(buckets_) && !mine.uses[at(next)].is_here)
    gather(worker, next);
  for (const int bucket : needed) {
    ++mine.uses[at(bucket)].layers;
    wait_for(worker, bucket);
  }
}

void ParameterGathering::release(int worker, std::span<const Range> parameters) {
  for (const int bucket : buckets_of(parameters)) --workers_[at(worker)].uses[at(bucket)].layers;
}

void ParameterGathering::gather(int worker, int bucket) {
  Worker& mine = workers_[at(worker)];
  if (worker == 0) {
    // What other workers still read keeps its memory, so that no more than a few buckets are here.
    const auto all_left = [&](int one) {
      return buckets_[at(one)].left.load() == mine.uses[at(one)].gathered * workers();
    };
    pool_.wait([&] { return std::ranges::all_of(dropped_, all_left); }, nap);
    dropped_.clear();
    const Range whole = plan().buckets()[at(bucket)], own = plan().my_slice(bucket);
    memory_.commit_values(whole);
    const auto values = [&](const Range& range) {
      return memory_.values().subspan(at(range.first), at(range.count()));
    };
    buckets_[at(bucket)].arrival =
        ranks_->start_all_gather(values(own), values(whole), plan().counts(bucket));
  }
  ++mine.uses[at(bucket)].gathered;
  mine.uses[at(bucket)].is_here = true;
  mine.here.push_back(bucket);
}

void ParameterGathering::wait_for(int worker, int bucket) {
  Bucket& one = buckets_[at(bucket)];
  const std::int64_t gathered = workers_[at(worker)].uses[at(bucket)].gathered;
  if (worker > 0)
    return pool_.wait([&] { return one.arrived.load() >= gathered; },
                      [&] { one.arrived.sleep_below(gathered); });
  if (!one.arrival) return;
  const auto begun = std::chrono::steady_clock::now();
  const Heartbeat::Waiting waiting(heartbeat_, "the parameters of other ranks", bucket);
  one.arrival->wait();
  one.arrival.reset();
  one.arrived.store(gathered);
  waiting_time_ += std::chrono::steady_clock::now() - begun;
}

void ParameterGathering::drop_unused(int worker, std::span<const int> needed) {
  Worker& mine = workers_[at(worker)];
  const std::vector<int> here = mine.here;
  for (const int bucket : here)
    if (mine.uses[at(bucket)].layers == 0 && std::ranges::find(needed, bucket) == needed.end())
      drop(worker, bucket);
}

void ParameterGathering::drop(int worker, int bucket) {
  Worker& mine = workers_[at(worker)];
  Use& use = mine.uses[at(bucket)];
  wait_for(worker, bucket);  // perhaps gathered, but not used
  if (worker == 0) dropped_.push_back(bucket);
  use.is_here = false;
  std::erase(mine.here, bucket);
  // The last worker gives the memory back.
  if (++buckets_[at(bucket)].left == use.gathered * workers())
    memory_.release_values(plan().buckets()[at(bucket)]);
}

void ParameterGathering::drop_all() {
  for (int worker = 0; worker < workers(); ++worker) {
    const std::vector<int> here = workers_[at(worker)].here;
    for (const int bucket : here) drop(worker, bucket);
    workers_[at(worker)].last = -1;
  }
  dropped_.clear();
}

}  // namespace trainer
