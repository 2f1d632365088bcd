#include "engine/parallel/activity.h"

namespace trainer {
namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;
constexpr double kMorePatience = 10;

}  // namespace

Activity::Waiting::Waiting(Activity& activity, const char* what, int bucket)
    : activity_(activity), outermost_(!activity.what_.load(kRelaxed)) {
  activity_.sign();
  if (!outermost_) return;
  activity_.bucket_.store(bucket, kRelaxed);
  activity_.rank_.store(-1, kRelaxed);
  activity_.what_.store(what, kRelaxed);
}

Activity::Waiting::~Waiting() {
  if (outermost_) activity_.what_.store(nullptr, kRelaxed);
}

void Activity::Waiting::for_bucket(int bucket) {
  if (activity_.bucket_.load(kRelaxed) == bucket) return;
  activity_.sign();
  activity_.bucket_.store(bucket, kRelaxed);
}

void Activity::Waiting::for_rank(int rank) {
  activity_.sign();
  activity_.rank_.store(rank, kRelaxed);
}

Activity::Snapshot Activity::look() const {
  return {.signs = signs_.load(kRelaxed),
          .what = what_.load(kRelaxed),
          .bucket = bucket_.load(kRelaxed),
          .rank = rank_.load(kRelaxed),
          .step = step_.load(kRelaxed),
          .patience = patience_.load(kRelaxed) * (delay_.load(kRelaxed) ? kMorePatience : 1)};
}

}  // namespace trainer
