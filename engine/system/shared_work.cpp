#include "engine/system/shared_work.h"

#include <algorithm>
#include <utility>

#include "engine/system/wait_until.h"

namespace trainer {
namespace {

constexpr int kPartBits = 16, kRoundBits = 32;
constexpr std::uint64_t kPartMask = (1 << kPartBits) - 1;
constexpr int kMostParts = kPartMask;

struct Self {
  SharedWork* work = nullptr;
  int worker = 0;
  bool computes_a_part = false;
};
thread_local Self self;

}  // namespace

SharedWork::SharedWork(int threads)
    : threads_(threads), of_worker_(std::make_unique<Offer[]>(static_cast<std::size_t>(threads))) {}

SharedWork::Membership::Membership(SharedWork& work, int worker) { self = {&work, worker}; }
SharedWork::Membership::~Membership() { self = {}; }

int SharedWork::helpers() const {
  const int waiting = waiting_.load(std::memory_order_relaxed);
  return waiting / std::max(1, threads_ - waiting);
}

bool SharedWork::take(Offer& offer) {
  std::uint64_t ticket = offer.ticket.load(std::memory_order_acquire);
  for (;;) {
    const std::uint64_t next = ticket & kPartMask;
    if (next >= (ticket >> kPartBits & kPartMask)) return false;
    const std::function<void(int)>* const part = offer.part.load(std::memory_order_relaxed);
    if (!offer.ticket.compare_exchange_weak(ticket, ticket + 1, std::memory_order_acq_rel)) continue;
    const bool was_computing = std::exchange(self.computes_a_part, true);
    try {
      (*part)(static_cast<int>(next));
    } catch (...) {
      if (!offer.failed.exchange(true)) offer.error = std::current_exception();
    }
    self.computes_a_part = was_computing;
    offer.unfinished.fetch_sub(1, std::memory_order_acq_rel);
    return true;
  }
}

bool SharedWork::take_any() {
  for (int worker = 0; worker < threads_; ++worker)
    if (take(of_worker_[static_cast<std::size_t>(worker)])) return true;
  return false;
}

void SharedWork::offer(Offer& offer, int parts, const std::function<void(int)>& part) {
  const std::uint64_t round = (offer.ticket.load(std::memory_order_relaxed) >> kRoundBits) + 1;
  offer.part.store(&part, std::memory_order_relaxed);
  offer.unfinished.store(parts, std::memory_order_relaxed);
  offer.ticket.store(round << kRoundBits | static_cast<std::uint64_t>(parts) << kPartBits,
                     std::memory_order_release);
  offers_.fetch_add(1, std::memory_order_relaxed);
  while (take(offer)) {
  }
  offers_.fetch_sub(1, std::memory_order_relaxed);
  wait_until([&] { return offer.unfinished.load(std::memory_order_acquire) == 0; }, false);
  if (offer.failed.exchange(false)) std::rethrow_exception(std::exchange(offer.error, nullptr));
}

int waiting_helpers() { return self.work && !self.computes_a_part ? self.work->helpers() : 0; }

void share_parts(int parts, const std::function<void(int)>& part) {
  if (self.work && !self.computes_a_part && parts > 1 && parts <= kMostParts)
    return self.work->offer(self.work->of_worker_[static_cast<std::size_t>(self.worker)], parts, part);
  for (int i = 0; i < parts; ++i) part(i);
}

}  // namespace trainer
