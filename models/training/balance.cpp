#include "models/training/balance.h"

#include <algorithm>
#include <chrono>
#include <numeric>

#include "engine/core/arena.h"
#include "engine/core/sum_tree.h"
#include "models/initializers/initializer.h"
#include "models/training/batch.h"
#include "models/training/training_parts.h"

namespace trainer {
namespace {

using Clock = std::chrono::steady_clock;

/// Sums over the batch as if every worker of the run had the rows of this one: no rank waits for another.
class RepeatedStatistics final : public StatisticsReducer {
 public:
  RepeatedStatistics(ThreadPool& pool, int ranks) : pool_(pool), workers_(ranks * pool.size()) {}

  void sum(int, std::span<const double> lines, std::span<double> total) override {
    std::ranges::fill(total, 0.0);
    for (std::size_t i = 0; i < lines.size(); ++i) total[i % total.size()] += lines[i] * workers_;
    pool_.barrier();
  }

 private:
  ThreadPool& pool_;
  int workers_;
};

/// Memory for the gradients of a rank's workers.
std::vector<Arena> gradients_of(const VirtualWorkers& workers, int rank, std::int64_t floats) {
  std::vector<Arena> gradients;
  for (int worker = 0; worker < workers.threads; ++worker) {
    const SumTree tree = SumTree::of_leaves(workers.count, workers.of_worker(rank, worker));
    for (std::size_t root = 0; root < tree.roots().size(); ++root)
      gradients.emplace_back(floats, MemoryKind::gradients);
  }
  return gradients;
}

std::vector<std::span<float>> spans_of(const std::vector<Arena>& arenas) {
  std::vector<std::span<float>> spans;
  for (const Arena& arena : arenas) spans.push_back(arena.floats());
  return spans;
}

/// Steps of this rank without update and without messages between data ranks, from initial weights.
class RehearsedSteps {
 public:
  RehearsedSteps(const Config& root, Session& session, bool oversubscribed)
      : session_(session),
        network_(session.network()),
        values_(network_.plan().parameter_end(), MemoryKind::parameters),
        statistics_(session.pool(), session.mesh().data().size()),
        runner_(session, network_),
        loader_(session.data(), loader_options(root.at("data"), session, oversubscribed, kSteps)),
        order_(loader_.order()) {
    initialize(network_.plan().parameters(), session.settings().seed, values_.floats());
    const std::int64_t border = network_.split_parameter_end();
    const int rank = session.mesh().data().rank();
    gradients_ = gradients_of(network_.virtual_workers(), rank, network_.plan().parameter_end() - border);
    Network::Sums split{{}, statistics_};
    if (network_.splits_rows()) {
      const int split_rank = session.mesh().as_data_ranks().data().rank();
      split_gradients_ = gradients_of(network_.split_workers(), split_rank, border);
      split.gradients = spans_of(split_gradients_);
    }
    network_.attach(values_.floats(), {spans_of(gradients_), statistics_}, &split);
  }

  /// The samples of this rank.
  std::int64_t step() {
    const std::span<const std::int64_t> samples = order_.batch(next_);
    runner_.clear();
    runner_.begin({.samples = samples, .batch = samples, .number = next_, .step = next_}, loader_);
    session_.pool().run([this](int worker) {
      runner_.load(worker);
      runner_.forward(worker);
      runner_.loss(worker);
      runner_.backward(worker, nullptr);
    });
    ++next_;
    const VirtualWorkers& workers = session_.virtual_workers();
    return workers.rows(workers.of_rank(session_.mesh().data().rank()), std::ssize(samples)).count();
  }

 private:
  static constexpr std::int64_t kSteps = std::int64_t{1} << 40;  // no end

  Session& session_;
  Network& network_;
  Arena values_;
  std::vector<Arena> gradients_, split_gradients_;
  RepeatedStatistics statistics_;
  BatchRunner runner_;
  RowLoader loader_;
  BatchOrder order_;
  std::int64_t next_ = 0;
};

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// All members of a model group compute the same number of steps.
bool any_of(Communicator& group, bool mine) {
  std::int64_t count = mine ? 1 : 0;
  group.sum(std::span(&count, 1));
  return count > 0;
}

}  // namespace

std::vector<std::int64_t> balanced_shares(std::span<const double> speeds, std::int64_t parts,
                                          std::int64_t least) {
  const double all = std::accumulate(speeds.begin(), speeds.end(), 0.0);
  std::vector<std::int64_t> shares;
  for (const double speed : speeds)
    shares.push_back(std::max(least, static_cast<std::int64_t>(static_cast<double>(parts) * (speed / all))));
  const auto time_with = [&](std::size_t rank, std::int64_t more) {
    return static_cast<double>(shares[rank] + more) / speeds[rank];
  };
  std::int64_t left = parts - std::accumulate(shares.begin(), shares.end(), std::int64_t{0});
  for (; left > 0; --left) {
    std::size_t first = 0;
    for (std::size_t rank = 1; rank < shares.size(); ++rank)
      if (time_with(rank, 1) < time_with(first, 1)) first = rank;
    ++shares[first];
  }
  for (; left < 0; ++left) {
    std::size_t last = shares.size();
    for (std::size_t rank = 0; rank < shares.size(); ++rank)
      if (shares[rank] > least && (last == shares.size() || time_with(rank, 0) > time_with(last, 0)))
        last = rank;
    if (last == shares.size()) break;
    --shares[last];
  }
  return shares;
}

std::vector<std::int64_t> shares_by_speed(const Session& session, std::span<const double> speeds) {
  constexpr double kNearlyEqual = 1.05;
  const auto [slowest, fastest] = std::ranges::minmax(speeds);
  const std::vector<double> equal(speeds.size(), 1.0);
  return balanced_shares(fastest > kNearlyEqual * slowest ? speeds : equal, session.parts_of_batch(),
                         session.least_share());
}

std::vector<double> measured_speeds(const Config& root, Session& session, bool oversubscribed) {
  constexpr double kShortest = 2, kSteps = 2;  // of the measurement: seconds, and slowest steps
  const Mesh& mesh = session.mesh();
  RehearsedSteps steps(root, session, oversubscribed);
  steps.step();  // touches the memory
  Clock::time_point begin = Clock::now();
  steps.step();
  double slowest = seconds_since(begin);
  mesh.world().maximum({&slowest, 1});
  mesh.world().barrier();
  begin = Clock::now();
  std::int64_t samples = 0;
  double time = 0;
  do {
    samples += steps.step();
    time = seconds_since(begin);
  } while (any_of(mesh.model(), time < std::max(kShortest, kSteps * slowest)));

  std::vector<double> of_ranks(static_cast<std::size_t>(mesh.world().size()));
  of_ranks[static_cast<std::size_t>(mesh.world().rank())] =
      static_cast<double>(std::max<std::int64_t>(1, samples)) / time;
  mesh.world().sum(of_ranks);
  std::vector<double> speeds;
  const auto members = mesh.model().size();
  for (auto group = of_ranks.begin(); group != of_ranks.end(); group += members)
    speeds.push_back(*std::min_element(group, group + members));
  return speeds;
}

}  // namespace trainer
