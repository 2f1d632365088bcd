#include "models/planning/gathered_buckets.h"

#include <algorithm>
#include <iterator>
#include <vector>

namespace trainer {
namespace {

/// The buckets that worker 0 has here, layer by layer.
class GatheredBuckets {
 public:
  explicit GatheredBuckets(const ShardPlan& shards)
      : shards_(shards), is_here_(shards.buckets().size()), readers_(shards.buckets().size()) {}

  std::int64_t most() const { return most_; }

  void forward(const Sequence& layers) {
    for (const Sequence::Entry& entry : layers.entries()) {
      acquire(entry);
      visit_inner(entry, [this](const Sequence& inner) { forward(inner); });
      release(entry);
    }
  }

  void backward(const Sequence& layers) {
    for (auto entry = layers.entries().rbegin(); entry != layers.entries().rend(); ++entry) {
      acquire(*entry);
      visit_inner(*entry, [&](const Sequence& inner) {
        if (entry->type == "recompute") forward(inner);
        backward(inner);
      });
      release(*entry);
    }
  }

 private:
  template <class Visit>
  static void visit_inner(const Sequence::Entry& entry, Visit visit) {
    if (auto* const composite = dynamic_cast<CompositeLayer*>(entry.layer.get()))
      for (const Sequence* inner : composite->sequences()) visit(*inner);
  }

  std::vector<std::size_t> buckets_of(const Sequence::Entry& entry) const {
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < is_here_.size(); ++i) {
      const Range& bucket = shards_.buckets()[i];
      if (std::ranges::any_of(entry.parameters, [&](const Range& range) {
            return range.first < bucket.last && range.last > bucket.first;
          }))
        found.push_back(i);
    }
    return found;
  }

  void acquire(const Sequence::Entry& entry) {
    const std::vector<std::size_t> needed = buckets_of(entry);
    if (needed.empty()) return;
    for (std::size_t i = 0; i < is_here_.size(); ++i)
      if (readers_[i] == 0 && std::ranges::find(needed, i) == needed.end()) is_here_[i] = false;
    for (const std::size_t bucket : needed) is_here_[bucket] = true;
    const auto front = static_cast<std::ptrdiff_t>(needed.front());
    if (last_ != front) {
      const std::ptrdiff_t next =
          last_ < 0 || last_ > front ? front - 1 : static_cast<std::ptrdiff_t>(needed.back()) + 1;
      if (next >= 0 && next < std::ssize(is_here_)) is_here_[static_cast<std::size_t>(next)] = true;
    }
    last_ = front;
    for (const std::size_t bucket : needed) ++readers_[bucket];
    std::int64_t floats = 0;
    for (std::size_t i = 0; i < is_here_.size(); ++i)
      if (is_here_[i]) floats += shards_.buckets()[i].count() - shards_.my_slice(static_cast<int>(i)).count();
    most_ = std::max(most_, floats);
  }

  void release(const Sequence::Entry& entry) {
    for (const std::size_t bucket : buckets_of(entry)) --readers_[bucket];
  }

  const ShardPlan& shards_;
  std::vector<bool> is_here_;
  std::vector<int> readers_;  ///< layers that compute
  std::ptrdiff_t last_ = -1;  ///< the first bucket of the layer before; -1: none
  std::int64_t most_ = 0;
};

}  // namespace

std::int64_t gathered_floats(const Sequence& layers, const ShardPlan& shards) {
  GatheredBuckets buckets(shards);
  buckets.forward(layers);
  buckets.backward(layers);
  return buckets.most();
}

}  // namespace trainer
