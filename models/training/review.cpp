#include "models/training/review.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <numeric>
#include <type_traits>

#include "models/losses/link.h"

namespace trainer {
namespace {

bool is_worse(const ReviewedSample& one, const ReviewedSample& other) {
  return one.loss != other.loss ? one.loss > other.loss : one.index < other.index;
}

std::vector<ReviewedSample> gathered(const std::vector<std::vector<ReviewedSample>>& of_workers,
                                     Communicator& data) {
  static_assert(std::is_trivially_copyable_v<ReviewedSample>);
  std::vector<ReviewedSample> mine, all;
  for (const auto& some : of_workers) mine.insert(mine.end(), some.begin(), some.end());
  for (const std::vector<std::byte>& bytes : data.gather(std::as_bytes(std::span(mine)), 0)) {
    const std::size_t before = all.size();
    all.resize(before + bytes.size() / sizeof(ReviewedSample));
    if (!bytes.empty()) std::memcpy(all.data() + before, bytes.data(), bytes.size());
  }
  return all;
}

std::vector<std::int64_t> summed(const std::vector<std::vector<std::int64_t>>& of_workers,
                                 Communicator& data) {
  std::vector<std::int64_t> sums = of_workers.front();
  for (const auto& counts : std::span(of_workers).subspan(1))
    std::ranges::transform(sums, counts, sums.begin(), std::plus());
  const auto of_ranks = data.gather(std::as_bytes(std::span(sums)), 0);
  for (std::size_t rank = 1; rank < of_ranks.size(); ++rank) {
    std::vector<std::int64_t> counts(sums.size());
    std::memcpy(counts.data(), of_ranks[rank].data(), of_ranks[rank].size());
    std::ranges::transform(sums, counts, sums.begin(), std::plus());
  }
  return sums;
}

}  // namespace

Reviewer::Reviewer(const Session& session, const Dataset& split)
    : session_(session),
      reviewed_(split.positions() > 0 ? std::min(split.size(), kMostOfPositions) : split.size()),
      worst_(static_cast<std::size_t>(session.pool().size())),
      spread_(worst_.size()),
      classes_(split.classes() > kMostClasses ? 0 : split.classes()),
      confusion_(worst_.size(), std::vector<std::int64_t>(static_cast<std::size_t>(classes_ * classes_))) {}

bool Reviewer::is_spread(std::int64_t sample) const {
  const std::int64_t every = std::max<std::int64_t>(1, reviewed_ / kSpread);
  return sample % every == 0 && sample / every < kSpread;
}

ReviewedSample Reviewer::reviewed(std::int64_t sample, double loss, std::span<const float> outputs) const {
  ReviewedSample result{.index = sample, .loss = loss};
  const bool are_classes = session_.data().train->classes() > 0;
  if (session_.labels_per_sample() > 1 || (!are_classes && outputs.size() > ReviewedSample::kMostShown))
    return result;
  std::vector<float> values(outputs.size());
  const RowPredictions predictions(session_.loss().link(), outputs);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(predictions[i]);
  if (const ChannelStatistics& scaling = session_.data().target_statistics; !scaling.mean.empty())
    unscale(scaling, values, values);
  std::vector<std::int32_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  const std::size_t shown = std::min(order.size(), ReviewedSample::kMostShown);
  const auto value_of = [&](std::int32_t element) { return values[static_cast<std::size_t>(element)]; };
  if (are_classes)
    std::ranges::partial_sort(order, order.begin() + static_cast<std::ptrdiff_t>(shown),
                              [&](std::int32_t a, std::int32_t b) {
                                return value_of(a) != value_of(b) ? value_of(a) > value_of(b) : a < b;
                              });
  result.shown = static_cast<std::int32_t>(shown);
  for (std::size_t i = 0; i < shown; ++i) {
    result.elements[i] = order[i];
    result.values[i] = value_of(order[i]);
  }
  return result;
}

void Reviewer::add(int worker, std::int64_t sample, double loss, std::span<const float> outputs,
                   std::int32_t label) {
  const bool is_nan = std::ranges::any_of(outputs, [](float output) { return std::isnan(output); });
  if (label >= 0 && std::ssize(outputs) == classes_ && !is_nan) {
    const auto predicted = std::ranges::max_element(outputs) - outputs.begin();
    ++confusion_[static_cast<std::size_t>(worker)][static_cast<std::size_t>(label * classes_ + predicted)];
  }
  if (std::isnan(loss)) loss = std::numeric_limits<double>::infinity();
  std::vector<ReviewedSample>& worst = worst_[static_cast<std::size_t>(worker)];
  const bool is_among_worst =
      worst.size() < kWorst || is_worse({.index = sample, .loss = loss}, worst.back());
  if (!is_among_worst && !is_spread(sample)) return;
  const ReviewedSample one = reviewed(sample, loss, outputs);
  if (is_spread(sample)) spread_[static_cast<std::size_t>(worker)].push_back(one);
  if (!is_among_worst) return;
  if (worst.size() == kWorst) worst.pop_back();
  worst.insert(std::ranges::upper_bound(worst, one, is_worse), one);
}

Review Reviewer::gather(Communicator& data) const {
  Review review{gathered(worst_, data), gathered(spread_, data), summed(confusion_, data)};
  std::ranges::sort(review.worst, is_worse);
  if (review.worst.size() > kWorst) review.worst.resize(kWorst);
  std::ranges::sort(review.spread, {}, &ReviewedSample::index);
  if (std::ranges::count(review.confusion, 0) == std::ssize(review.confusion)) review.confusion.clear();
  return review;
}

}  // namespace trainer
