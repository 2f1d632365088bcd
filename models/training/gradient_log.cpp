#include "models/training/gradient_log.h"

#include <algorithm>
#include <utility>

namespace trainer {

std::vector<std::string> GradientLog::layers(const std::vector<Parameter>& parameters) {
  std::vector<std::string> names;
  for (const Parameter& parameter : parameters)
    if (const std::string name = parameter.module();
        parameter.rate > 0 && std::ranges::find(names, name) == names.end())
      names.push_back(name);
  return names;
}

GradientLog::GradientLog(const std::vector<Parameter>& parameters, OptimizerShard& shard, AllReduce& scalars,
                         Communicator& model)
    : shard_(shard),
      scalars_(scalars),
      model_(model),
      layers_(layers(parameters).size()),
      norms_(2 * layers_) {
  const std::vector<std::string> names = layers(parameters);
  for (const Parameter& parameter : parameters)
    layer_of_.push_back(std::ranges::find(names, parameter.module()) - names.begin());
}

void GradientLog::before_update(std::int64_t, const Signals&) {
  reports_.clear();
  if (!is_due_) return;
  const auto for_each = [&](const auto& visit) {
    shard_.visit_counted([&](int parameter, std::span<const float> values, std::span<const float> gradients) {
      visit(layer_of_[parameter], gradients);
      visit(layers_ + layer_of_[parameter], values);
    });
  };
  const std::span<const double> norms = norms_.find(for_each, scalars_, model_);
  for (std::size_t layer = 0; layer < layers_; ++layer)
    reports_.push_back({.gradient = norms[layer], .parameters = norms[layers_ + layer]});
  before_.clear();
  shard_.visit_counted([&](int, std::span<const float> values, std::span<const float>) {
    before_.insert(before_.end(), values.begin(), values.end());
  });
}

void GradientLog::before_publish(std::int64_t) {
  if (!std::exchange(is_due_, false)) return;  // evaluations swap parameters and publish, too
  auto change = before_.begin();
  shard_.visit_counted([&](int, std::span<const float> values, std::span<const float>) {
    change = std::ranges::transform(values, std::span(change, values.size()), change, std::minus()).out;
  });
  const auto for_each = [&](const auto& visit) {
    std::size_t first = 0;
    shard_.visit_counted([&](int parameter, std::span<const float> values, std::span<const float>) {
      visit(layer_of_[parameter], std::span<const float>(before_).subspan(first, values.size()));
      first += values.size();
    });
  };
  const std::span<const double> norms = norms_.find(for_each, scalars_, model_);
  for (std::size_t layer = 0; layer < layers_; ++layer) reports_[layer].change = norms[layer];
}

}  // namespace trainer
