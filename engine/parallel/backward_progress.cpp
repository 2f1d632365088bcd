#include "engine/parallel/backward_progress.h"

#include <algorithm>
#include <stdexcept>

namespace trainer {

BackwardProgress::BackwardProgress(ParameterWindow& window, int workers)
    : window_(window.window()),
      buckets_(window.plan().buckets()),
      workers_(static_cast<std::size_t>(workers)) {}

void BackwardProgress::begin() {
  ++pass_;
  finished_ = 0;
  std::ranges::fill(workers_, Worker{.position = std::ssize(window_.values())});
}

void BackwardProgress::advance(int worker, std::int64_t offset) {
  Worker& mine = workers_[static_cast<std::size_t>(worker)];
  if (offset < 0 || offset > mine.position)
    throw std::logic_error("gradients must become ready from the end to the beginning");
  mine.position = offset;
  const int before = mine.buckets;
  while (mine.buckets < std::ssize(buckets_) &&
         offset <= buckets_[static_cast<std::size_t>(mine.buckets)].first)
    ++mine.buckets;
  if (mine.buckets > before)
    window_.set_progress(window_.first_worker() + worker, number_of(mine.buckets - 1));
}

int BackwardProgress::finished_buckets() {
  while (finished_ < std::ssize(buckets_) && window_.all_reached(number_of(finished_))) ++finished_;
  return finished_;
}

void BackwardProgress::wait_for(int bucket) const { window_.wait_for_progress(number_of(bucket), bucket); }

void BackwardProgress::check_end() const {
  if (std::ranges::any_of(workers_, [](const Worker& worker) { return worker.position != 0; }))
    throw std::logic_error("finish() before all gradients were ready");
}

}  // namespace trainer
