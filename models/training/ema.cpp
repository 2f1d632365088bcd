#include "models/training/ema.h"

namespace trainer {

void Ema::begin() {
  if (is_on_) shard_.begin_ema();
}

void Ema::restore(std::int64_t done) {
  if (!is_on_) return;
  shard_.swap_ema(done);
  reducer_.publish();
}

void Ema::swap(std::int64_t done, Hook& hooks) {
  if (!is_on_) return;
  scalars_.barrier();  // no rank reads the values any more
  shard_.swap_ema(done);
  hooks.before_arrivals(done);
  hooks.before_publish(done);
  reducer_.publish();
  hooks.after_publish(done);
}

}  // namespace trainer
