#include "cli/commands/planned_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "cli/commands/micro_batches.h"
#include "models/optimizers/optimizer.h"
#include "models/training/consensus.h"
#include "models/training/sharding_check.h"

namespace trainer {
namespace {

/// Arrays of the optimizer shard that checkpoints hold.
int saved_arrays(const Config& train, const TrainSettings& settings) {
  const auto optimizer = Registry<Optimizer>::make(train.at("optimizer"));
  return static_cast<int>(optimizer->states().size()) + (settings.ema > 0 ? 1 : 0);
}

/// Floats that threads need at a time to update matrices.
std::int64_t optimizer_scratch(const Config& train, const Network& network) {
  const auto optimizer = Registry<Optimizer>::make(train.at("optimizer"));
  std::vector<std::int64_t> floats;
  for (const Parameter& parameter : network.plan().parameters()) {
    if (!optimizer->requires_matrices() || parameter.rate == 0 || !network.plan().is_hidden_matrix(parameter))
      continue;
    const std::int64_t columns = parameter.shape[parameter.shape.rank() - 1];
    floats.push_back(optimizer->scratch_floats(parameter.shape.size() / columns, columns));
  }
  std::ranges::sort(floats, std::greater());
  const std::ptrdiff_t threads =
      std::min<std::ptrdiff_t>(network.virtual_workers().threads, std::ssize(floats));
  return std::accumulate(floats.begin(), floats.begin() + threads, std::int64_t{0});
}

/// The most rows of a rank in a batch.
std::int64_t most_rows(const VirtualWorkers& workers, std::int64_t batch) {
  std::int64_t most = 0;
  for (int rank = 0; rank < workers.ranks; ++rank)
    most = std::max(most, workers.rows(workers.of_rank(rank), batch).count());
  return most;
}

}  // namespace

PlannedRun::PlannedRun(ConfigSource config, const Options& options)
    : options_(options),
      ranks_(options.mesh),
      pool_(options.threads, false, {}, options.workers),
      config_(std::move(config)),
      run_(open_fitted_plan(config_, ranks_.mesh(), pool_)) {
  if (const std::string_view apart = session().settings().steps_apart(); !apart.empty())
    run_.config.root().at("train").fail(
        apart, "plan and forecast describe steps that all ranks take together",
        fmt::format("-s train.{}=~, or a copy of the configuration without it", apart));
  check_sharding(run_.config.root().at("train"), session().settings(), options.sharding, options.mesh.model);
  const NetworkPlan& plan = session().network().plan();
  const bool updates_matrices =
      Registry<Optimizer>::make(run_.config.root().at("train").at("optimizer"))->requires_matrices();
  parameters_ = placed_parameters(session().network(), ranks_.mesh(),
                                  session().settings().compression.has_feedback(), updates_matrices);
  layers_ = layer_costs(session().network());
  const TrainSettings& settings = session().settings();
  std::int64_t scalars = static_cast<std::int64_t>(session().metric_sums());
  if (settings.exact) scalars *= settings.virtual_workers;
  step_.emplace(
      PlacedStep{.ranks = ranks_,
                 .parameters = parameters_,
                 .layers = layers_,
                 .workers = session().virtual_workers(),
                 .rows = most_rows(session().virtual_workers(), session().batch_rows()),
                 .micro_batches = static_cast<int>(settings.accumulate),
                 .compression = settings.compression,
                 .sharding = options.sharding,
                 .compressed = compressed_messages(settings.compression, plan, ranks_.mesh().data().size()),
                 .scalars = scalars + Consensus::kSignals});
}

MemoryNeeds memory_needs(const OpenRun& run) {
  const TrainSettings& settings = run.session->settings();
  MemoryNeeds needs{
      .compression = settings.compression,
      .saved_arrays = saved_arrays(run.config.root().at("train"), settings),
      .keeps_gradients = settings.accumulate > 1,
      .is_local = settings.local.has_value(),
      .optimizer_scratch = optimizer_scratch(run.config.root().at("train"), run.session->network()),
      .saves = settings.checkpoint.kind != Cadence::Kind::never};
  for (const Dataset* source : run.session->data().sources) needs.samples += source->stored_bytes();
  return needs;
}

MemoryPlan PlannedRun::memory(std::int64_t program) const {
  MemoryNeeds needs = memory_needs(run_);
  needs.ranks_per_host = ranks_.ranks_per_node();
  needs.sharding = options_.sharding;
  // What Open MPI 4.1 keeps in a rank, besides the program.
  constexpr std::int64_t kMpi = 5 << 20;
  needs.program = program + (ranks_.mesh().world().size() > 1 ? kMpi : 0);
  return memory_plan(session().network(), parameters_, needs);
}

bool PlannedRun::is_sharded() const {
  return std::ranges::any_of(layers_, [](const LayerCost& layer) { return layer.share < 1; });
}

PlannedRun::Measured PlannedRun::measured_on(int cores) const {
  const int all = ranks_.ranks_per_node() * options_.threads;
  const bool together = all <= cores || ranks_.nodes() == 1;
  const int ranks = together ? ranks_.ranks_per_node() : 1;
  return {.ranks = ranks,
          .threads = ranks * options_.threads,
          .workers = ranks * options_.workers,
          .rows = ranks * step_->rows * step_->micro_batches};
}

ComputingTimes PlannedRun::computing(const ComputingTimes& measured, int cores) const {
  // Each rank updates its shard, or with error feedback all, with its threads alone.
  double held = 0, updated = 0, whole = 0;
  for (const Parameter& parameter : session().network().plan().parameters()) {
    const auto size = static_cast<double>(parameter.shape.size());
    held += size;
    whole += static_cast<double>(parameter.whole_shape().size());
    for (const PlacedParameters& part : parameters_)
      if (parameter.offset >= part.floats.first && parameter.offset < part.floats.last)
        updated += size / (part.shards.replicated() ? 1 : part.mesh.data().size());
  }
  ComputingTimes times = measured;
  times.sums *= whole > 0 ? held / whole : 0;
  const int ranks = measured_on(cores).ranks;
  times.update *= whole > 0 ? updated / whole * ranks : 0;
  times.processes = ranks_.mesh().world().size() / ranks;
  return times;
}

ComputingTimes PlannedRun::computing_at(double rate) const {
  double forward = 0, backward = 0;
  for (const LayerCost& layer : layers_) {
    forward += static_cast<double>(layer.forward);
    backward += static_cast<double>(layer.backward);
  }
  if (forward + backward <= 0)
    throw Error(ExitCode::usage, "--rate: no layer of this model counts floating-point operations",
                "without --rate, a few steps are measured here");
  const double rows = static_cast<double>(step_->rows) / options_.threads;
  return {.forward = rows * forward / rate, .backward = rows * backward / rate};
}

int planned_threads(const CpuAffinity& alone, int ranks) {
  const int threads = alone.placement.threads;
  return alone.placement.reason == "default" ? std::max(1, threads / ranks) : threads;
}

}  // namespace trainer
