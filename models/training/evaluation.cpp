#include "models/training/evaluation.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "models/training/batch.h"

namespace trainer {

Scores evaluate(Session& session, const Dataset& split) {
  BatchRunner runner(session);
  const std::int64_t batch = session.settings().batch;
  std::vector<std::int64_t> samples;
  for (std::int64_t first = 0; first < split.size(); first += batch) {
    samples.resize(static_cast<std::size_t>(std::min(batch, split.size() - first)));
    std::iota(samples.begin(), samples.end(), first);
    runner.evaluate(split, samples);
  }
  std::vector<double> sums(runner.sums().begin(), runner.sums().end());
  session.mesh().data().sum(std::span(sums));
  Scores scores;
  runner.scores(sums, split.size(), scores);
  return scores;
}

}  // namespace trainer
