#include "models/training/optimizer_shard.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <numeric>
#include <stdexcept>

#include "engine/core/bfloat16.h"
#include "engine/core/index.h"
#include "engine/math/elementwise.h"
#include "engine/math/fingerprint.h"
#include "engine/math/updates.h"
#include "models/network/shard.h"

namespace trainer {
namespace {

/// A worker with fewer floats than this is not worth waking.
constexpr std::int64_t kFloatsWorthThread = 1 << 14;
/// Floats of a piece of a segment: its values, gradients and states stay in the L1 cache while the guard
/// and the optimizer read them one after the other.
constexpr std::size_t kPieceFloats = kFetchedAhead;
/// Floats of a fingerprint: many, since each ends with a sum over columns, and still in the L1 cache.
constexpr std::size_t kHashedFloats = 4096;
/// No update reads frozen pieces, so each step checks one of so many.
constexpr std::size_t kFrozenTurns = 16;
/// Shares end on cache lines.
constexpr std::int64_t kQuantum = 16;

std::uint32_t magnitude(std::span<const float> values) {
  return largest_magnitude(std::ssize(values), values.data());
}

/// "weights", or "square of weights".
std::string name_of(const Parameter& parameter, std::size_t array, std::span<const std::string> states) {
  return (array == 0 ? "" : states[array - 1] + " of ") + parameter.name;
}

}  // namespace

OptimizerShard::OptimizerShard(const NetworkPlan& plan, ParameterWindows& windows, ThreadPool& pool,
                               const Options& options)
    : pool_(pool),
      keep_(options.ema),
      rounds_changes_(options.rounds_changes),
      optimizer_states_(options.states),
      largest_(static_cast<std::size_t>(pool.size())) {
  std::int64_t floats = 0;
  for (const Range& range : windows.shard()) {
    floats += range.count();
    sums_.push_back(windows.sums().subspan(range.first, range.count()));
  }
  const std::size_t states = options.states + (options.ema > 0 ? 1 : 0);
  if (states > Segment::kMaxStates)
    throw std::logic_error("an optimizer has more states than a segment holds");
  states_ = Arena(floats * static_cast<std::int64_t>(states), MemoryKind::optimizer_state);
  if (options.initial != 0) std::ranges::fill(states_.floats(), options.initial);
  if (options.keeps_gradients) kept_ = Arena(floats, MemoryKind::optimizer_state);
  const std::int64_t workers = floats < kFloatsWorthThread * pool.size() ? 1 : pool.size();
  const std::int64_t share = (floats / workers + kQuantum) / kQuantum * kQuantum;
  const bool has_whole_parameters = options.matrices != nullptr;
  first_segment_.push_back(0);
  std::int64_t position = 0;
  auto sums = sums_.begin();
  for (const Range& range : windows.shard()) {
    int index = -1;
    for (const Parameter& parameter : plan.parameters()) {
      ++index;
      std::int64_t first = std::max(range.first, parameter.offset);
      const std::int64_t last = std::min(range.last, parameter.offset + parameter.shape.size());
      while (first < last) {
        // A segment ends where its parameter, its range or its worker's share does. A whole parameter belongs
        // to the share with its middle.
        const auto left_of_share = [&] { return share * std::ssize(first_segment_) - position; };
        while (has_whole_parameters && std::ssize(first_segment_) < workers &&
               (last - first) / 2 >= left_of_share())
          first_segment_.push_back(segments_.size());
        const std::int64_t left = has_whole_parameters ? last - first + 1 : left_of_share();
        const std::int64_t count = std::min(last - first, left);
        const auto size = static_cast<std::size_t>(count);
        Segment segment{.values = windows.values().subspan(first, count),
                        .gradients = sums->subspan(static_cast<std::size_t>(first - range.first), size),
                        .is_weight = parameter.is_weight,
                        .parameter = index,
                        .rate = parameter.rate,
                        .direction = sums->subspan(static_cast<std::size_t>(first - range.first), size)};
        for (std::size_t state = 0; state < states; ++state)
          segment.states[state] = states_.floats().subspan(
              static_cast<std::size_t>(position) + state * static_cast<std::size_t>(floats), size);
        segments_.push_back(segment);
        offsets_.push_back(first);
        // All ranks update parameters before the border once.
        const bool counts =
            options.counts_shared || parameter.shard_axis >= 0 || parameter.offset < windows.border();
        is_counted_.push_back(counts);
        is_in_norms_.push_back(parameter.rate > 0 && counts);
        first += count;
        position += count;
        if (count == left) first_segment_.push_back(segments_.size());
      }
    }
    ++sums;
  }
  first_segment_.resize(static_cast<std::size_t>(workers) + 1, segments_.size());
  if (options.matrices) set_matrices(plan, *options.matrices);
}

void OptimizerShard::set_matrices(const NetworkPlan& plan, const Optimizer& optimizer) {
  std::vector<std::int64_t> of_worker(first_segment_.size() - 1);
  for (std::size_t worker = 0; worker < of_worker.size(); ++worker)
    for (std::size_t i = first_segment_[worker]; i < first_segment_[worker + 1]; ++i) {
      const Parameter& parameter = plan.parameters()[static_cast<std::size_t>(segments_[i].parameter)];
      if (is_frozen(i) || !plan.is_hidden_matrix(parameter)) continue;
      segments_[i].columns = parameter.shape[parameter.shape.rank() - 1];
      segments_[i].rows = parameter.shape.size() / segments_[i].columns;
      of_worker[worker] =
          std::max(of_worker[worker], optimizer.scratch_floats(segments_[i].rows, segments_[i].columns));
    }
  scratch_ = Arena(std::accumulate(of_worker.begin(), of_worker.end(), std::int64_t{0}),
                   MemoryKind::optimizer_state);
  std::size_t position = 0;
  for (std::size_t worker = 0; worker < of_worker.size(); ++worker) {
    const auto count = static_cast<std::size_t>(of_worker[worker]);
    for (std::size_t i = first_segment_[worker]; i < first_segment_[worker + 1]; ++i)
      segments_[i].scratch = scratch_.floats().subspan(position, count);
    position += count;
  }
}

template <class Work>
void OptimizerShard::for_each_worker(Work work) {
  const auto part = [&](int worker) {
    const auto index = static_cast<std::size_t>(worker);
    work(first_segment_[index], first_segment_[index + 1], index);
  };
  if (first_segment_.size() == 2) return part(0);
  pool_.run(std::ref(part));
}

std::uint32_t OptimizerShard::largest_gradient() {
  std::ranges::fill(largest_, 0U);
  for_each_worker([this](std::size_t first, std::size_t last, std::size_t worker) {
    for (std::size_t i = first; i < last; ++i) {
      const std::uint32_t here =
          fingerprints_.empty() ? magnitude(segments_[i].gradients) : magnitude_with_fingerprint(i);
      if (!is_frozen(i) || !is_finite_magnitude(here)) largest_[worker] = std::max(largest_[worker], here);
    }
  });
  return *std::ranges::max_element(largest_);
}

template <class Work>
void OptimizerShard::for_each_run(std::size_t segment, std::size_t first, std::span<const float> values,
                                  Work work) const {
  const Parameter& parameter = plan_->parameters()[static_cast<std::size_t>(segments_[segment].parameter)];
  std::int64_t position = offsets_[segment] - parameter.offset + static_cast<std::int64_t>(first);
  while (!values.empty()) {
    const ShardRun run = run_at(parameter, position);
    const auto part = values.first(std::min(values.size(), static_cast<std::size_t>(run.count)));
    work(part, run.whole);
    values = values.subspan(part.size());
    position += std::ssize(part);
  }
}

std::uint32_t OptimizerShard::magnitude_with_fingerprint(std::size_t segment) {
  FingerprintAndLargest all;
  for_each_run(segment, 0, segments_[segment].gradients, [&](std::span<const float> run, std::int64_t whole) {
    const FingerprintAndLargest here = fingerprint_and_largest(run, whole);
    all = {all.sum + here.sum, std::max(all.largest, here.largest)};
  });
  fingerprints_[segment].gradient = all.sum;
  return all.largest;
}

void OptimizerShard::add_values(std::size_t segment, std::size_t first, std::size_t last) {
  for_each_run(segment, first, segments_[segment].values.subspan(first, last - first),
               [&](std::span<const float> run, std::int64_t whole) {
                 fingerprints_[segment].values += fingerprint(run, whole);
               });
}

void OptimizerShard::keep_fingerprints(const NetworkPlan& plan) {
  plan_ = &plan;
  fingerprints_.assign(segments_.size(), {});
  for_each_worker([this](std::size_t first, std::size_t last, std::size_t) {
    for (std::size_t i = first; i < last; ++i) add_values(i, 0, segments_[i].values.size());
  });
}

void OptimizerShard::step_with_fingerprint(Optimizer& optimizer, std::size_t index, const Segment& part,
                                           float rate, std::int64_t step) {
  static_assert(kHashedFloats % kPieceFloats == 0);
  const std::span<const float> all = segments_[index].values;
  const auto update = [&](const Segment& piece) {
    step_segment(optimizer, piece, rate, step);
    const std::size_t end = static_cast<std::size_t>(piece.values.data() - all.data()) + piece.values.size();
    if (end % kHashedFloats == 0 || end == all.size())
      add_values(index, (end - 1) / kHashedFloats * kHashedFloats, end);
  };
  if (part.values.size() <= kHashedFloats) return update(part);
  for (std::size_t first = 0; first < part.values.size(); first += kHashedFloats)
    update(part.part(first, std::min(kHashedFloats, part.values.size() - first)));
}

void OptimizerShard::add_squares(SquareSum& sum) const {
  for (std::size_t i = 0; i < segments_.size(); ++i)
    if (is_in_norms_[i]) sum.add(std::ssize(segments_[i].gradients), segments_[i].gradients.data());
}

void OptimizerShard::scale_gradients(float factor) {
  for (const std::span<float> sums : sums_) {
    scale(std::ssize(sums), factor, sums.data(), sums.data());
  }
}

void OptimizerShard::clamp_gradients(float limit) {
  for (const std::span<float> sums : sums_) {
    clamp(std::ssize(sums), limit, sums.data());
  }
}

void OptimizerShard::keep_gradients(bool first) {
  float* kept = kept_.floats().data();
  for (const std::span<float> sums : sums_) {
    if (first)
      std::ranges::copy(sums, kept);
    else
      accumulate(std::ssize(sums), sums.data(), kept);
    kept += sums.size();
  }
}

void OptimizerShard::add_kept_gradients() {
  const float* kept = kept_.floats().data();
  for (const std::span<float> sums : sums_) {
    accumulate(std::ssize(sums), kept, sums.data());
    kept += sums.size();
  }
}

void OptimizerShard::guard(MemoryGuard::Facts facts) {
  std::size_t pieces = 0;
  for (const Segment& segment : segments_) {
    first_piece_.push_back(pieces);
    pieces += (segment.values.size() + kPieceFloats - 1) / kPieceFloats;
  }
  guard_.emplace(pieces, std::move(facts));
  for_each_worker([this](std::size_t first, std::size_t last, std::size_t) {
    for (std::size_t i = first; i < last; ++i)
      for_each_piece(
          i, [this](std::size_t index, const Segment& piece) { guard_->keep(index, piece, guard_->all()); });
  });
}

void OptimizerShard::verify(std::int64_t step) {
  if (!guard_) return;
  for_each_worker([&](std::size_t first, std::size_t last, std::size_t) {
    for (std::size_t i = first; i < last; ++i)
      for_each_piece(i, [&](std::size_t index, const Segment& piece) {
        guard_->check(index, piece, guard_->all(), step);
      });
  });
}

std::string OptimizerShard::not_finite(std::span<const Parameter> parameters,
                                       std::span<const std::string> states) {
  std::vector<std::string> found(first_segment_.size() - 1);
  for_each_worker([&](std::size_t first, std::size_t last, std::size_t worker) {
    for (const Segment& segment : std::span(segments_).subspan(first, last - first))
      for (std::size_t array = 0; array <= states.size() && found[worker].empty(); ++array)
        if (!is_finite_magnitude(magnitude(array == 0 ? segment.values : segment.states[array - 1])))
          found[worker] = name_of(parameters[static_cast<std::size_t>(segment.parameter)], array, states);
  });
  const auto first = std::ranges::find_if(found, [](const std::string& name) { return !name.empty(); });
  return first == found.end() ? "" : *first;
}

template <class Work>
void OptimizerShard::for_each_piece(std::size_t segment, Work work) const {
  const Segment& whole = segments_[segment];
  std::size_t index = first_piece_[segment];
  for (std::size_t first = 0; first < whole.values.size(); first += kPieceFloats)
    work(index++, whole.part(first, std::min(kPieceFloats, whole.values.size() - first)));
}

template <class Work>
void OptimizerShard::guarded(std::size_t segment, MemoryGuard::Arrays arrays, std::int64_t step, Work work) {
  if (!guard_) return work(segments_[segment]);
  for_each_piece(segment, [&](std::size_t index, const Segment& piece) {
    guard_->check(index, piece, arrays, step);
    work(piece);
    guard_->keep(index, piece, arrays);
  });
}

template <class Work>
void OptimizerShard::guarded_whole(std::size_t segment, MemoryGuard::Arrays arrays, std::int64_t step,
                                   Work work) {
  if (guard_)
    for_each_piece(
        segment, [&](std::size_t index, const Segment& piece) { guard_->check(index, piece, arrays, step); });
  work(segments_[segment]);
  if (guard_)
    for_each_piece(segment,
                   [&](std::size_t index, const Segment& piece) { guard_->keep(index, piece, arrays); });
}

void OptimizerShard::check_frozen(std::size_t segment, std::int64_t step) const {
  for_each_piece(segment, [&](std::size_t index, const Segment& piece) {
    if ((index + static_cast<std::size_t>(step)) % kFrozenTurns == 0)
      guard_->check(index, piece, guard_->all(), step);
  });
}

void OptimizerShard::step_segment(Optimizer& optimizer, const Segment& segment, float rate,
                                  std::int64_t step) const {
  if (!rounds_changes_) return optimizer.step({&segment, 1}, rate, step);
  std::array<float, kPieceFloats> values;
  for (std::size_t first = 0; first < segment.values.size(); first += kPieceFloats) {
    const Segment piece = segment.part(first, std::min(kPieceFloats, segment.values.size() - first));
    const std::span<float> before = std::span(values).first(piece.values.size());
    std::ranges::copy(piece.values, before.begin());
    optimizer.step({&piece, 1}, rate, step);
    round_changes(before, piece.values, piece.direction);
  }
}

void OptimizerShard::update(Optimizer& optimizer, float rate, std::int64_t step,
                            const std::function<void(std::int64_t end)>& updated) {
  for_each_worker([&](std::size_t first, std::size_t last, std::size_t worker) {
    for (std::size_t i = first; i < last; ++i) {
      update_segment(optimizer, i, rate, step);
      if (worker == 0 && updated) updated(offsets_[i] + std::ssize(segments_[i].values));
    }
  });
}

void OptimizerShard::update_segment(Optimizer& optimizer, std::size_t index, float rate, std::int64_t step) {
  const std::size_t ema = optimizer_states_;
  const MemoryGuard::Arrays changed{0, optimizer.steps_states() ? 1 + ema : 1};
  if (is_frozen(index)) {
    if (rounds_changes_) std::ranges::fill(segments_[index].direction, 0.0f);
    if (guard_) check_frozen(index, step);
    return;
  }
  if (!fingerprints_.empty()) fingerprints_[index].values = 0;
  guarded(index, changed, step, [&](const Segment& part) {
    if (fingerprints_.empty()) return step_segment(optimizer, part, rate * part.rate, step);
    step_with_fingerprint(optimizer, index, part, rate * part.rate, step);
  });
  if (keep_ > 0)
    guarded(index, {1 + ema, 2 + ema}, step, [&](const Segment& piece) {
      moving_average(std::ssize(piece.values), keep_, piece.values.data(), piece.states[ema].data());
    });
}

void OptimizerShard::find_directions(Optimizer& optimizer, std::int64_t step) {
  if (!optimizer.finds_directions()) return;
  for_each_worker([&](std::size_t first, std::size_t last, std::size_t) {
    const MemoryGuard::Arrays states{1, 1 + optimizer_states_};
    const auto find = [&](const Segment& segment) { optimizer.find_directions({&segment, 1}, step); };
    for (std::size_t i = first; i < last; ++i)
      if (segments_[i].columns > 0)
        guarded_whole(i, states, step, find);
      else if (!is_frozen(i))
        guarded(i, states, step, find);
  });
}

void OptimizerShard::begin_ema() {
  for (const Segment& segment : segments_)
    std::ranges::copy(segment.values, segment.states[optimizer_states_].begin());
}

void OptimizerShard::swap_ema(std::int64_t step) {
  for_each_worker([&](std::size_t first, std::size_t last, std::size_t) {
    for (std::size_t i = first; i < last; ++i)
      if (!is_frozen(i))
        guarded(i, {0, 2 + optimizer_states_}, step, [this](const Segment& segment) {
          std::ranges::swap_ranges(segment.values, segment.states[optimizer_states_]);
        });
  });
}

void OptimizerShard::set_state(std::size_t state, std::int64_t offset, std::span<const float> values) {
  for (std::size_t i = 0; i < segments_.size(); ++i) {
    const std::span<float> own = segments_[i].states[state];
    const std::int64_t first = std::max(offset, offsets_[i]),
                       last = std::min(offset + std::ssize(values), offsets_[i] + std::ssize(own));
    if (first < last)
      std::ranges::copy(values.subspan(at(first - offset), at(last - first)),
                        own.begin() + (first - offsets_[i]));
  }
}

void OptimizerShard::visit_values(
    const std::function<void(std::int64_t, std::span<const float>)>& visit) const {
  for (std::size_t i = 0; i < segments_.size(); ++i) visit(offsets_[i], segments_[i].values);
}

void OptimizerShard::visit_state(
    std::size_t state, const std::function<void(std::int64_t, std::span<const float>)>& visit) const {
  for (std::size_t i = 0; i < segments_.size(); ++i) visit(offsets_[i], segments_[i].states[state]);
}

}  // namespace trainer
