#include "engine/parallel/feedback_reducer.h"

#include <algorithm>
#include <iterator>

#include "engine/core/index.h"
#include "engine/parallel/norm_sketch.h"
#include "engine/parallel/split_sum.h"

namespace trainer {

FeedbackReducer::FeedbackReducer(Mesh& mesh, ThreadPool& pool, ParameterWindow& window,
                                 const std::vector<CompressedParameter>& parameters)
    : NodeReducer(mesh, pool, window),
      ranks_(mesh.data()),
      whole_{0, std::ssize(window.values())},
      residual_(whole_.count(), MemoryKind::residual) {
  std::ranges::copy_if(parameters, std::back_inserter(momenta_),
                       [](const CompressedParameter& parameter) { return !parameter.momentum.empty(); });
}

template <class Work>
void FeedbackReducer::for_each_momentum(std::span<float> sums, Work work) {
  split_sum(std::ssize(sums), &pool_, [&](int part, int parts) {
    for (const CompressedParameter& parameter : momenta_) {
      const Range mine = part_of(parameter.range.count(), part, parts);
      for (std::int64_t i = mine.first; i < mine.last; ++i)
        work(sums[at(parameter.range.first + i)], parameter.momentum[at(i)]);
    }
  });
}

/// Nothing is sent before all gradients are here.
std::unique_ptr<Request> FeedbackReducer::start_exchange(int) { return complete_request(); }

void FeedbackReducer::sum_received(int, int, ThreadPool*) {
  const std::span<float> sums = memory_.sums(whole_), residual = residual_.floats();
  if (!compresses_) {
    error_.reset();
    return ranks_.sum(sums);
  }
  split_sum(std::ssize(sums), &pool_, [&](int part, int parts) {
    const Range mine = part_of(std::ssize(sums), part, parts);
    for (std::int64_t i = mine.first; i < mine.last; ++i) sums[at(i)] += residual[at(i)];
  });
  const float share = memory_.compression().momentum,
              share_of_rank = share / static_cast<float>(ranks_.size());
  for_each_momentum(sums, [&](float& sum, float momentum) { sum += share_of_rank * momentum; });
  NormSketch sent, kept;
  if (measures_) sent.add(sums);
  exchange(sums, residual);
  for_each_momentum(sums, [&](float& sum, float& momentum) {
    const float known = sum;
    sum -= share * momentum;
    momentum = known;
  });
  if (!measures_) return;
  kept.add(residual);
  ranks_.sum(sent.sums());
  ranks_.sum(kept.sums());
  error_ = sent.norm() > 0 ? kept.norm() / sent.norm() : 0;
}

}  // namespace trainer
