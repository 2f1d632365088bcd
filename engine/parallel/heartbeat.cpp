#include "engine/parallel/heartbeat.h"

namespace trainer {
namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;
constexpr double kPatienceWithDisks = 10;

}  // namespace

Heartbeat::Waiting::Waiting(Heartbeat& heartbeat, const char* what, int bucket)
    : heartbeat_(heartbeat), outermost_(!heartbeat.what_.load(kRelaxed)) {
  heartbeat_.sign();
  if (!outermost_) return;
  heartbeat_.bucket_.store(bucket, kRelaxed);
  heartbeat_.rank_.store(-1, kRelaxed);
  heartbeat_.what_.store(what, kRelaxed);
}

Heartbeat::Waiting::~Waiting() {
  if (outermost_) heartbeat_.what_.store(nullptr, kRelaxed);
}

void Heartbeat::Waiting::for_bucket(int bucket) {
  if (heartbeat_.bucket_.load(kRelaxed) == bucket) return;
  heartbeat_.sign();
  heartbeat_.bucket_.store(bucket, kRelaxed);
}

void Heartbeat::Waiting::for_rank(int rank) {
  heartbeat_.sign();
  heartbeat_.rank_.store(rank, kRelaxed);
}

Heartbeat::DiskWork::DiskWork(Heartbeat& heartbeat, const char* what) : heartbeat_(heartbeat) {
  add_progress();
  of_rank(-1);
  heartbeat_.disk_what_.store(what, kRelaxed);
}

Heartbeat::DiskWork::~DiskWork() { heartbeat_.disk_what_.store(nullptr, kRelaxed); }

void Heartbeat::DiskWork::add_progress() {
  heartbeat_.disk_signs_.store(heartbeat_.disk_signs_.load(kRelaxed) + 1, kRelaxed);
}

void Heartbeat::DiskWork::of_rank(int rank) { heartbeat_.disk_rank_.store(rank, kRelaxed); }

Heartbeat::Snapshot Heartbeat::look() const {
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
