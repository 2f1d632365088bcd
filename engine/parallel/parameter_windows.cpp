#include "engine/parallel/parameter_windows.h"

#include <stdexcept>

#include "engine/parallel/joined_reducer.h"

namespace trainer {
namespace {

/// The borders from `first` to `last`, counted from `first`.
std::vector<std::int64_t> borders_between(const std::vector<std::int64_t>& borders, std::int64_t first,
                                          std::int64_t last) {
  std::vector<std::int64_t> result;
  for (const std::int64_t border : borders)
    if (border >= first && border < last) result.push_back(border - first);
  result.push_back(last - first);
  return result;
}

}  // namespace

ParameterWindows::ParameterWindows(Mesh& mesh, const ThreadPool& pool,
                                   const std::vector<std::int64_t>& borders,
                                   const ParameterWindow::Options& options, std::int64_t border)
    : border_(mesh.model().size() > 1 ? border : 0),
      rest_(mesh, pool, borders_between(borders, border_, borders.back()), options) {
  if (border_ > 0) {
    if (rest_.shards_gradients()) throw std::logic_error("sharded gradients need all ranks to be data ranks");
    ParameterWindow::Options split = options;
    split.ends = rest_.virtual_workers().split(mesh.model().size()).ends;
    front_.emplace(mesh.as_data_ranks(), pool, borders_between(borders, 0, border_), split);
    shard_.assign(front_->shard().begin(), front_->shard().end());
  }
  for (const Range& range : rest_.shard()) shard_.push_back({border_ + range.first, border_ + range.last});
}

FlatValues<float> ParameterWindows::values() {
  return {front_ ? front_->values() : std::span<float>(), rest_.values()};
}

FlatValues<const float> ParameterWindows::values() const {
  return {front_ ? front_->values() : std::span<const float>(), rest_.values()};
}

FlatValues<float> ParameterWindows::sums() {
  return {front_ ? front_->gradients(0) : std::span<float>(), rest_.gradients(0)};
}

ParameterWindow& ParameterWindows::only() {
  if (front_) throw std::logic_error("the parameters lie in two windows");
  return rest_;
}

std::unique_ptr<GradientReducer> ParameterWindows::make_reducer(
    Mesh& mesh, ThreadPool& pool, const std::vector<CompressedParameter>& compressed) {
  std::unique_ptr<GradientReducer> rest = make_gradient_reducer(mesh, pool, rest_, compressed);
  if (!front_) return rest;
  return std::make_unique<JoinedReducer>(make_gradient_reducer(mesh.as_data_ranks(), pool, *front_),
                                         std::move(rest), border_);
}

}  // namespace trainer
