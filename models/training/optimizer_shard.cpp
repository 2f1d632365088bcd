#include "models/training/optimizer_shard.h"

#include <algorithm>
#include <cstddef>
#include <functional>

#include "engine/math/elementwise.h"
#include "engine/math/updates.h"

namespace trainer {
namespace {

/// For a share below this, waking another worker costs more than it saves.
constexpr std::int64_t kFloatsWorthThread = 1 << 14;
/// The most floats of a segment: few enough that values, gradients and states stay in the first cache while
/// the optimizer and what follows it read them one after the other. With twice as many an update is slower.
constexpr std::int64_t kMostFloats = kFetchedAhead;
/// The most segments of a group: so many that what the guard does for each group takes no time.
constexpr std::size_t kGroup = 8;
/// Nothing overwrites what is frozen, so a flipped bit there waits to be found: each step looks at one of so
/// many groups, as nothing else of them is read.
constexpr std::int64_t kFrozenTurns = 16;
/// Shares end on cache lines.
constexpr std::int64_t kQuantum = 16;

bool is_finite(std::span<const float> numbers) {
  return is_finite_magnitude(largest_magnitude(std::ssize(numbers), numbers.data()));
}

/// "weights", or "square of weights".
std::string name_of(const Parameter& parameter, std::size_t array, std::span<const std::string> states) {
  return (array == 0 ? "" : states[array - 1] + " of ") + parameter.name;
}

}  // namespace

OptimizerShard::OptimizerShard(const Plan& plan, GradientReducer& reducer, ThreadPool& pool,
                               const Options& options)
    : pool_(pool),
      reducer_(reducer),
      keep_(options.average),
      finite_(static_cast<std::size_t>(pool.size())),
      largest_(static_cast<std::size_t>(pool.size())) {
  std::int64_t owned = 0;
  for (const auto& piece : reducer.pieces()) owned += piece.last - piece.first;
  const std::size_t states = options.states + (options.average > 0 ? 1 : 0);
  states_ = Arena(owned * static_cast<std::int64_t>(states));
  if (options.initial != 0) std::ranges::fill(states_.floats(), options.initial);
  if (options.keeps_gradients) kept_ = Arena(owned);
  const std::int64_t workers = owned < kFloatsWorthThread * pool.size() ? 1 : pool.size();
  const std::int64_t share = (owned / workers + kQuantum) / kQuantum * kQuantum;
  std::vector<std::size_t> first_segment{0};  // of each worker
  std::int64_t position = 0;
  for (const auto& piece : reducer.pieces()) {
    int index = -1;
    for (const Parameter& parameter : plan.parameters()) {
      ++index;
      std::int64_t first = std::max(piece.first, parameter.offset);
      const std::int64_t last = std::min(piece.last, parameter.offset + parameter.shape.size());
      while (first < last) {
        // A segment ends where its parameter, its piece or its worker's share does, or when it is large.
        const std::int64_t left = share * std::ssize(first_segment) - position;
        const std::int64_t count = std::min({last - first, left, kMostFloats});
        const auto size = static_cast<std::size_t>(count);
        Segment segment{
            .values = reducer.values().subspan(static_cast<std::size_t>(first), size),
            .gradients = reducer.sums(piece).subspan(static_cast<std::size_t>(first - piece.first), size),
            .is_weight = parameter.is_weight,
            .parameter = index,
            .rate = parameter.rate,
            .direction = reducer.sums(piece).subspan(static_cast<std::size_t>(first - piece.first), size)};
        for (std::size_t state = 0; state < states; ++state)
          segment.states.push_back(states_.floats().subspan(
              static_cast<std::size_t>(position) + state * static_cast<std::size_t>(owned), size));
        segments_.push_back(std::move(segment));
        offsets_.push_back(first);
        counts_.push_back(parameter.rate > 0 && (options.counts_shared || parameter.cut_axis >= 0));
        first += count;
        position += count;
        if (count == left) first_segment.push_back(segments_.size());
      }
    }
  }
  first_segment.resize(static_cast<std::size_t>(workers) + 1, segments_.size());
  make_groups(first_segment);
  has_frozen_ = std::ranges::any_of(segments_, [](const Segment& segment) { return segment.rate == 0; });
}

/// A group has the segments of one parameter and of one worker.
void OptimizerShard::make_groups(const std::vector<std::size_t>& first_segment) {
  for (std::size_t worker = 0; worker + 1 < first_segment.size(); ++worker) {
    first_group_.push_back(groups_.size());
    const std::size_t last = first_segment[worker + 1];
    for (std::size_t first = first_segment[worker], next = first; first < last; first = next) {
      while (next < last && next - first < kGroup && segments_[next].parameter == segments_[first].parameter)
        ++next;
      groups_.push_back(std::span(segments_).subspan(first, next - first));
    }
  }
  first_group_.push_back(groups_.size());
}

template <class Work>
void OptimizerShard::share_out(Work work) {
  const auto part = [&](int worker) {
    const auto index = static_cast<std::size_t>(worker);
    work(first_group_[index], first_group_[index + 1], index);
  };
  if (first_group_.size() == 2) return part(0);
  pool_.run(std::ref(part));
}

bool OptimizerShard::gradients_are_finite() {
  std::ranges::fill(finite_, true);
  share_out([this](std::size_t first, std::size_t last, std::size_t worker) {
    for (std::size_t group = first; group < last && finite_[worker]; ++group)
      finite_[worker] = std::ranges::all_of(
          groups_[group], [](const Segment& segment) { return is_finite(segment.gradients); });
  });
  return std::ranges::all_of(finite_, [](char finite) { return finite != 0; });
}

std::uint32_t OptimizerShard::largest_gradient() {
  std::ranges::fill(largest_, 0U);
  share_out([this](std::size_t first, std::size_t last, std::size_t worker) {
    for (std::size_t group = first; group < last; ++group)
      for (const Segment& segment : groups_[group])
        if (segment.rate > 0)
          largest_[worker] = std::max(
              largest_[worker], largest_magnitude(std::ssize(segment.gradients), segment.gradients.data()));
  });
  return *std::ranges::max_element(largest_);
}

void OptimizerShard::add_squares(SquareSum& sum) const {
  for (std::size_t i = 0; i < segments_.size(); ++i)
    if (counts_[i]) sum.add(std::ssize(segments_[i].gradients), segments_[i].gradients.data());
}

void OptimizerShard::scale_gradients(float factor) {
  for (const auto& piece : reducer_.pieces()) {
    const std::span<float> sums = reducer_.sums(piece);
    scale(std::ssize(sums), factor, sums.data(), sums.data());
  }
}

void OptimizerShard::clamp_gradients(float limit) {
  for (const auto& piece : reducer_.pieces()) {
    const std::span<float> sums = reducer_.sums(piece);
    clamp(std::ssize(sums), limit, sums.data());
  }
}

void OptimizerShard::keep_gradients(bool first) {
  float* kept = kept_.floats().data();
  for (const auto& piece : reducer_.pieces()) {
    const std::span<float> sums = reducer_.sums(piece);
    if (first)
      std::ranges::copy(sums, kept);
    else
      accumulate(std::ssize(sums), sums.data(), kept);
    kept += sums.size();
  }
}

void OptimizerShard::add_kept_gradients() {
  const float* kept = kept_.floats().data();
  for (const auto& piece : reducer_.pieces()) {
    const std::span<float> sums = reducer_.sums(piece);
    accumulate(std::ssize(sums), kept, sums.data());
    kept += sums.size();
  }
}

void OptimizerShard::guard(MemoryGuard::Facts facts) {
  guard_.emplace(groups_, std::move(facts));
  told_.resize(first_group_.size() - 1);
  share_out([this](std::size_t first, std::size_t last, std::size_t worker) {
    for (std::size_t group = first; group < last; ++group) {
      for (Segment& segment : groups_[group]) segment.sums = &told_[worker];
      guard_->note(group);
    }
  });
}

void OptimizerShard::verify(std::int64_t step) {
  if (!guard_) return;
  share_out([&](std::size_t first, std::size_t last, std::size_t) {
    for (std::size_t group = first; group < last; ++group) guard_->check(group, step);
  });
}

std::string OptimizerShard::not_finite(std::span<const Parameter> parameters,
                                       std::span<const std::string> states) {
  std::vector<std::string> found(first_group_.size() - 1);
  share_out([&](std::size_t first, std::size_t last, std::size_t worker) {
    for (std::size_t group = first; group < last; ++group)
      for (const Segment& segment : groups_[group])
        for (std::size_t array = 0; array <= segment.states.size() && found[worker].empty(); ++array)
          if (!is_finite(array == 0 ? segment.values : segment.states[array - 1]))
            found[worker] = name_of(parameters[static_cast<std::size_t>(segment.parameter)], array, states);
  });
  const auto first = std::ranges::find_if(found, [](const std::string& name) { return !name.empty(); });
  return first == found.end() ? "" : *first;
}

template <class Work>
void OptimizerShard::change(std::int64_t step, Work work) {
  share_out([&](std::size_t first, std::size_t last, std::size_t) {
    for (std::size_t group = first; group < last; ++group) {
      if (guard_) guard_->check(group, step);
      if (is_frozen(group)) continue;
      std::ranges::for_each(groups_[group], work);
      if (guard_) guard_->note(group);
    }
  });
}

template <class Work>
void OptimizerShard::follow(std::int64_t step, Work work) {
  share_out([&](std::size_t first, std::size_t last, std::size_t worker) {
    for (std::size_t group = first; group < last; ++group) {
      if (is_frozen(group)) continue;
      if (guard_) told_[worker].clear();
      const bool resumes = work(std::span<const Segment>(groups_[group]), worker);
      if (guard_ && resumes) guard_->take(group, told_[worker], step);
      if (resumes) continue;
      // A part of the group is updated, and only that was told of.
      if (guard_) guard_->note(group);
      return;
    }
  });
}

bool OptimizerShard::update(Optimizer& optimizer, float rate, std::int64_t step, bool looks) {
  if (looks && has_frozen_) {
    // The update passes those over.
    if (!gradients_are_finite()) return false;
    looks = false;
  }
  std::ranges::fill(finite_, true);
  follow(step, [&](std::span<const Segment> segments, std::size_t worker) {
    const float here = rate * segments.front().rate;
    // A look goes just before its segment, and a mean that follows comes just behind it: what they share is
    // then in the first cache.
    const std::size_t at_once = looks || keep_ > 0 ? 1 : segments.size();
    for (std::size_t first = 0; first < segments.size(); first += at_once) {
      const Segment& segment = segments[first];
      if (looks && !is_finite(segment.gradients)) {
        finite_[worker] = false;
        return false;
      }
      optimizer.step(segments.subspan(first, at_once), here, step);
      if (keep_ > 0)
        moving_average(std::ssize(segment.values), keep_, segment.values.data(), segment.states.back().data(),
                       segment.sums, static_cast<int>(segment.states.size()));
    }
    return true;
  });
  check_frozen(step);
  return std::ranges::all_of(finite_, [](char finite) { return finite != 0; });
}

void OptimizerShard::check_frozen(std::int64_t step) {
  if (!guard_ || !has_frozen_) return;
  share_out([&](std::size_t first, std::size_t last, std::size_t) {
    for (std::size_t group = first; group < last; ++group)
      if (is_frozen(group) && (static_cast<std::int64_t>(group) + step) % kFrozenTurns == 0)
        guard_->check(group, step);
  });
}

void OptimizerShard::direct(Optimizer& optimizer, std::int64_t step) {
  follow(step, [&](std::span<const Segment> segments, std::size_t) {
    optimizer.direct(segments, step);
    return true;
  });
}

void OptimizerShard::begin_average() {
  for (const Segment& segment : segments_) std::ranges::copy(segment.values, segment.states.back().begin());
}

void OptimizerShard::swap_average(std::int64_t step) {
  change(step,
         [](const Segment& segment) { std::ranges::swap_ranges(segment.values, segment.states.back()); });
}

void OptimizerShard::set_state(std::size_t state, std::span<const float> flat) {
  for (std::size_t i = 0; i < segments_.size(); ++i) {
    const std::span<float> numbers = segments_[i].states[state];
    std::ranges::copy(flat.subspan(static_cast<std::size_t>(offsets_[i]), numbers.size()), numbers.begin());
  }
}

void OptimizerShard::visit_state(
    std::size_t state, const std::function<void(std::int64_t, std::span<const float>)>& visit) const {
  for (std::size_t i = 0; i < segments_.size(); ++i) visit(offsets_[i], segments_[i].states[state]);
}

}  // namespace trainer
