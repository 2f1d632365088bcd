#include "engine/parallel/activity.h"

namespace trainer {
namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;
constexpr double kPatienceWithDisks = 10;

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

Activity::DiskWork::DiskWork(Activity& activity, const char* what) : activity_(activity) {
  has_moved();
  of_rank(-1);
  activity_.disk_what_.store(what, kRelaxed);
}

Activity::DiskWork::~DiskWork() { activity_.disk_what_.store(nullptr, kRelaxed); }

void Activity::DiskWork::has_moved() {
  activity_.disk_signs_.store(activity_.disk_signs_.load(kRelaxed) + 1, kRelaxed);
}

void Activity::DiskWork::of_rank(int rank) { activity_.disk_rank_.store(rank, kRelaxed); }

Activity::Snapshot Activity::look() const {
  const double patience = patience_.load(kRelaxed);
  return {.ranks = {.signs = signs_.load(kRelaxed),
                    .what = what_.load(kRelaxed),
                    .bucket = bucket_.load(kRelaxed),
                    .rank = rank_.load(kRelaxed),
                    .patience = patience},
          .disk = {.signs = disk_signs_.load(kRelaxed),
                   .what = disk_what_.load(kRelaxed),
                   .rank = disk_rank_.load(kRelaxed),
                   .patience = patience * kPatienceWithDisks},
          .step = step_.load(kRelaxed)};
}

}  // namespace trainer
