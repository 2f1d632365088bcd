#include "engine/math/product_times.h"

#include <algorithm>

#include "engine/math/engine.h"

namespace trainer {
namespace {

ProductTimes* current_times = nullptr;

}  // namespace

ProductTimes::ProductTimes() {
  choose_engine_by_shape({});
  current_times = this;
}

ProductTimes::~ProductTimes() { current_times = nullptr; }

ProductTimes* ProductTimes::current() { return current_times; }

void ProductTimes::add(const ProductShape& shape, Nanoseconds time) {
  const std::lock_guard lock(one_at_a_time_);
  Times& times = times_[shape];
  times.native_calls += engine_ == Engine::native;
  Nanoseconds& shortest = engine_ == Engine::native ? times.native : times.openblas;
  shortest = std::min(shortest, time);
}

}  // namespace trainer
