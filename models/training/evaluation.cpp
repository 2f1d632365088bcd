#include "models/training/evaluation.h"

#include <algorithm>
#include <span>
#include <vector>

#include "models/training/area_under_curve.h"
#include "models/training/batch.h"

namespace trainer {

namespace {

/// Batches between two all-reduces that ask whether to stop.
constexpr std::int64_t kBatchesBetween = 16;

/// The batches of an evaluation: every sample once, in order. With streams, row r of a batch takes the sample
/// that follows row r of the batch before, so that layers carry their state.
class EvaluationOrder {
 public:
  EvaluationOrder(std::int64_t samples, std::int64_t batch, bool streams)
      : samples_(samples),
        rows_(streams ? std::clamp<std::int64_t>(samples / kLeastLength, 1, batch) : batch),
        streams_(streams) {}

  std::int64_t batches() const { return (samples_ + rows_ - 1) / rows_; }
  /// Valid until the next call.
  std::span<const std::int64_t> batch(std::int64_t number) {
    // The first streams are one sample longer than the others, so a short last batch keeps the rows' order.
    const std::int64_t length = samples_ / rows_, longer = samples_ % rows_;
    batch_.resize(static_cast<std::size_t>(std::min(rows_, samples_ - number * rows_)));
    for (std::int64_t row = 0; row < std::ssize(batch_); ++row)
      batch_[static_cast<std::size_t>(row)] =
          streams_ ? row * length + std::min(row, longer) + number : number * rows_ + row;
    return batch_;
  }

 private:
  /// Samples of a stream at least: each stream begins without a state, and few samples should.
  static constexpr std::int64_t kLeastLength = 16;

  std::int64_t samples_, rows_;
  bool streams_;
  std::vector<std::int64_t> batch_;
};

/// Resets the layers' states of training for an evaluation, and restores them after it.
class FreshStates {
 public:
  explicit FreshStates(Network& network)
      : network_(network), kept_(network.states().begin(), network.states().end()) {
    for (const State& state : network.plan().states())
      if (state.use == StateUse::training) std::ranges::fill(values(state), state.constant);
  }
  ~FreshStates() {
    for (const State& state : network_.plan().states())
      if (state.use == StateUse::training)
        std::copy_n(kept_.begin() + state.offset, state.shape.size(), values(state).begin());
  }
  FreshStates(const FreshStates&) = delete;
  FreshStates& operator=(const FreshStates&) = delete;

 private:
  std::span<float> values(const State& state) const {
    return network_.states().subspan(static_cast<std::size_t>(state.offset),
                                     static_cast<std::size_t>(state.shape.size()));
  }

  Network& network_;
  std::vector<float> kept_;
};

bool any_rank(Communicator& world, bool here) {
  std::int64_t ranks = here ? 1 : 0;
  world.sum(std::span(&ranks, 1));
  return ranks > 0;
}

}  // namespace

Scores evaluate(Session& session, const Dataset& split) { return *evaluate(session, split, nullptr); }

std::optional<Scores> evaluate(Session& session, const Dataset& split, const std::function<bool()>& stop,
                               Review* review, OutputSink* sink) {
  BatchRunner runner(session, session.network());
  EvaluationOrder order(split.size(), session.batch_rows(), session.network().plan().streams_required());
  const FreshStates fresh(session.network());
  std::optional<Reviewer> reviewer;
  if (review != nullptr) reviewer.emplace(session, split);
  for (std::int64_t number = 0; number < order.batches(); ++number) {
    const std::span<const std::int64_t> samples = order.batch(number);
    runner.evaluate(split, samples, reviewer ? &*reviewer : nullptr);
    if (sink) sink->add(samples, runner);
    if (stop && number % kBatchesBetween == kBatchesBetween - 1 && any_rank(session.mesh().world(), stop()))
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
  if (reviewer) *review = reviewer->gather(session.mesh().data());
  return scores;
}

}  // namespace trainer
