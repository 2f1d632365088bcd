#include "engine/parallel/joined_reducer.h"

#include <algorithm>

namespace trainer {

void JoinedReducer::begin() {
  front_->begin();
  rest_->begin();
}

std::int64_t JoinedReducer::position(int worker) const {
  const std::int64_t rest = rest_->position(worker);
  return rest > 0 ? border_ + rest : front_->position(worker);
}

void JoinedReducer::ready(int worker, std::int64_t offset) {
  // Called again with the same offset, a reducer moves what is under way.
  rest_->ready(worker, std::max<std::int64_t>(0, offset - border_));
  if (offset < border_) front_->ready(worker, offset);
}

void JoinedReducer::finish() {
  rest_->finish();
  front_->finish();
}

void JoinedReducer::start_publish() {
  front_->start_publish();
  rest_->start_publish();
}

void JoinedReducer::receive() {
  front_->receive();
  rest_->receive();
}

void JoinedReducer::acquire(int worker, std::span<const Range> parameters) {
  for (const Range& range : parameters) {
    const Range front{std::min(range.first, border_), std::min(range.last, border_)};
    const Range rest{std::max(range.first - border_, std::int64_t{0}), range.last - border_};
    if (front.count() > 0) front_->acquire(worker, {&front, 1});
    if (rest.count() > 0) rest_->acquire(worker, {&rest, 1});
  }
}

std::chrono::nanoseconds JoinedReducer::take_waiting_time() {
  return front_->take_waiting_time() + rest_->take_waiting_time();
}

std::vector<GradientReducer::Exchange> JoinedReducer::exchanges() const {
  std::vector<Exchange> all = rest_->exchanges();
  const std::vector<Exchange> front = front_->exchanges();
  all.insert(all.end(), front.begin(), front.end());
  return all;
}

std::vector<Range> JoinedReducer::overwritten() const {
  std::vector<Range> places = front_->overwritten();
  for (const Range& range : rest_->overwritten())
    places.push_back({border_ + range.first, border_ + range.last});
  return places;
}

}  // namespace trainer
