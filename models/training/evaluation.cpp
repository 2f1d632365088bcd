#include "models/training/evaluation.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "models/training/area_under_curve.h"
#include "models/training/batch.h"

namespace trainer {

namespace {

/// Batches between two questions whether to stop: a message each time would show where batches are small.
constexpr std::int64_t kBatchesBetween = 16;

bool any_rank(Communicator& world, bool here) {
  std::int64_t ranks = here ? 1 : 0;
  world.sum(std::span(&ranks, 1));
  return ranks > 0;
}

}  // namespace

Scores evaluate(Session& session, const Dataset& split) { return *evaluate(session, split, nullptr); }

std::optional<Scores> evaluate(Session& session, const Dataset& split, const std::function<bool()>& stop) {
  BatchRunner runner(session, session.network());
  const std::int64_t batch = session.settings().micro_batch();
  std::vector<std::int64_t> samples;
  for (std::int64_t first = 0; first < split.size(); first += batch) {
    samples.resize(static_cast<std::size_t>(std::min(batch, split.size() - first)));
    std::iota(samples.begin(), samples.end(), first);
    runner.evaluate(split, samples);
    if (stop && first / batch % kBatchesBetween == kBatchesBetween - 1 &&
        any_rank(session.mesh().world(), stop()))
      return std::nullopt;
  }
  std::vector<double> sums(runner.sums().begin(), runner.sums().end());
  session.mesh().data().sum(std::span(sums));
  Scores scores;
  runner.scores(sums, split.size(), scores);
  for (std::size_t i = 0; i < session.metrics().size(); ++i)
    if (session.metrics()[i]->requires_scores())
      scores.metrics[i] = area_under_curve(runner.take_scores(i), session.mesh().data());
  scores.tables = session.metric_tables(runner.metric_sums());
  return scores;
}

}  // namespace trainer
