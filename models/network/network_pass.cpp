#include "models/network/network_pass.h"

#include <algorithm>
#include <array>

#include "engine/parallel/paged_memory.h"

namespace trainer {

bool NetworkPass::layer_sums(ParameterId id) const { return layer_sums(plan_->parameter(id)); }

bool NetworkPass::layer_sums(const Parameter& parameter) const {
  // A gradient that several layers add to is summed after the last of them.
  return parameter.summed_by_layer && parameter.uses == 1 && virtual_workers_.size() > 1;
}

void NetworkPass::begin_layer(std::span<const Range> parameters) {
  if (source_) source_->acquire(worker_, parameters);
  for (const Range& range : parameters)
    if (is_backward_ && is_paged_) commit_gradients(range);
}

void NetworkPass::acquire(ParameterId id, std::int64_t end) {
  if (!has_parts()) return;
  const std::int64_t offset = plan_->parameter(id).offset;
  const Range part{offset, offset + end};
  source_->acquire(worker_, {&part, 1});
}

void NetworkPass::commit_gradients(const Range& range) {
  for (float* const root : roots_) commit_pages(part_of(root, range), MemoryKind::gradients);
  for (const Parameter& parameter : network_plan_->parameters()) {
    const Range own{std::max(range.first, parameter.offset),
                    std::min(range.last, parameter.offset + parameter.shape.size())};
    if (own.count() <= 0 || layer_sums(parameter)) continue;
    for (const VirtualWorker& worker : virtual_workers_)
      if (!is_root(worker.gradients))
        commit_pages(part_of(worker.gradients, own), MemoryKind::virtual_worker_gradients);
  }
}

NetworkPass::GradientTree NetworkPass::gradient_tree(ParameterId id) const {
  if (kept_ >= 0) return {};
  GradientTree sums{.tree = &tree_};
  const std::int64_t place = plan_->parameter(id).offset - first_float_;
  std::ranges::transform(roots_, sums.roots.begin(), [place](float* root) { return root + place; });
  return sums;
}

void NetworkPass::sum_gradient(ParameterId id, std::int64_t first, std::span<const float> of_workers) {
  const auto count = std::ssize(of_workers) / std::ssize(virtual_workers_);
  const std::int64_t place = plan_->parameter(id).offset - first_float_ + first;
  for (std::size_t worker = 0; worker < virtual_workers_.size(); ++worker)
    inputs_[worker] = of_workers.data() + static_cast<std::int64_t>(worker) * count;
  std::array<float*, SumTree::kMaxRoots> roots{};
  for (std::size_t root = 0; root < roots_.size(); ++root) roots[root] = roots_[root] + place;
  tree_.sum(inputs_, std::span(roots).first(roots_.size()), 0, count);
  if (kept_ < 0) return;
  const auto kept = static_cast<std::size_t>(kept_);
  std::copy_n(inputs_[kept], count, virtual_workers_[kept].gradients + place);
}

void NetworkPass::sum_gradients(std::int64_t first, std::int64_t last) {
  if (virtual_workers_.size() < 2) return;
  for (std::size_t worker = 0; worker < virtual_workers_.size(); ++worker)
    inputs_[worker] = virtual_workers_[worker].gradients;
  const std::vector<Parameter>& parameters = network_plan_->parameters();
  for (std::size_t index = parameters.size(); index-- > 0 && parameters[index].offset >= first;) {
    const Parameter& parameter = parameters[index];
    const std::int64_t place = parameter.offset - first_float_;
    if (parameter.offset >= last || layer_sums({.index = static_cast<int>(index)})) continue;
    const Range range{parameter.offset, parameter.offset + parameter.shape.size()};
    if (is_paged_) commit_gradients(range);  // also of a frozen layer, which has no backward
    tree_.sum(inputs_, roots_, place, place + parameter.shape.size());
    for (const VirtualWorker& worker : virtual_workers_)
      if (is_paged_ && !is_root(worker.gradients)) release_pages(part_of(worker.gradients, range));
  }
}

void NetworkPass::ready_from(std::int64_t offset) {
  if (!sink_) return;
  offset = within(offset);
  const std::int64_t last = within(sink_->position(worker_));
  if (offset >= last) return;
  sum_gradients(offset, last);
  sink_->ready(worker_, offset);
}

}  // namespace trainer
