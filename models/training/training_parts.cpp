#include "models/training/training_parts.h"

#include <algorithm>
#include <limits>

#include "engine/system/cores.h"
#include "models/optimizers/outer_optimizer.h"
#include "models/training/batch_rows.h"
#include "models/training/compressed_parameters.h"

namespace trainer {
namespace {

BatchOrder::Options order_options(const Config& data, const Session& session, std::int64_t batch) {
  return {.samples = session.data().train->size(),
          .batch = batch,
          .shuffle = data.get<bool>("shuffle"),
          .drop_last = data.get<bool>("drop_last"),
          .streams = data.get<bool>("streams"),
          .balanced = data.get<bool>("balance_classes") ? session.data().train.get() : nullptr,
          .seed = session.settings().seed};
}

RunFacts run_facts(const Session& session, std::int64_t steps_per_epoch) {
  const std::int64_t total = session.settings().total_steps(steps_per_epoch);
  return {.steps_per_epoch = steps_per_epoch,
          .total_steps = total,
          .batch = session.settings().batch,
          .epochs = static_cast<int>(std::min<std::int64_t>((total + steps_per_epoch - 1) / steps_per_epoch,
                                                            std::numeric_limits<int>::max())),
          .metrics = session.metric_facts(),
          .evaluation_split = session.evaluation_split(),
          .nodes = session.mesh().nodes(),
          .ranks = session.mesh().world().size(),
          .model_ranks = session.mesh().model().size(),
          .is_async = session.settings().async.has_value()};
}

ScheduleContext schedule_context(const Config& train, const Session& session, const RunFacts& facts) {
  const double rate = Registry<Optimizer>::make(train.at("optimizer"))->rate();
  ScheduleContext context{.rate = session.settings().scaled_rate(rate),
                          .steps_per_epoch = facts.steps_per_epoch,
                          .total_steps = facts.total_steps};
  if (session.settings().warmup) context.warmup = context.steps(*session.settings().warmup);
  return context;
}

/// The optimizer of the session's parameters: between rounds of local SGD the outer one.
std::unique_ptr<Optimizer> make_optimizer(const Config& train, const Session& session) {
  if (session.settings().local && !session.is_share())
    return Registry<OuterOptimizer>::make(train.at("local").at("outer"));
  return Registry<Optimizer>::make(train.at("optimizer"));
}

ParameterWindow::Options window_options(ParameterWindow::Options options, const Session& session,
                                        const Optimizer& optimizer) {
  options.whole_parameters = optimizer.requires_matrices();
  options.virtual_workers = session.exact_virtual_workers();
  if (session.virtual_workers().exact) options.ends = session.virtual_workers().ends;
  options.compression = session.compression();
  if (session.settings().local && options.compression.has_feedback()) {
    // LocalTrainer exchanges the differences of virtual workers, each with its own residual.
    options.compression = {};
    options.replicated = true;
  }
  if (session.settings().async && !session.is_share()) {
    // No rank reads what another one updates, and a shard is one range.
    options.share = false;
    options.bucket_floats = std::numeric_limits<std::int64_t>::max();
    options.cut_floats = 0;
  }
  return options;
}

/// Cores of this rank without a worker. Those that a quota grants are not this rank's alone.
int idle_cores(const ThreadPool& pool, bool oversubscribed) {
  const std::vector<Core> cores = usable_cores();
  const int count = static_cast<int>(cores.size());
  return oversubscribed || granted_cores(cores) < count ? 0 : std::max(0, count - pool.size());
}

}  // namespace

RowLoader::Options loader_options(const Config& data, const Session& session, bool oversubscribed,
                                  std::int64_t end) {
  // With streams the rows of a micro-batch are not consecutive in the order of micro-batches.
  const bool is_in_order = !data.get<bool>("streams") || session.settings().accumulate == 1;
  return {.order = order_options(data, session, session.settings().micro_batch()),
          .own_rows = [&session](std::int64_t rows) { return session.network().input_rows(rows); },
          .end_step = end,
          .workers = session.pool().size(),
          .idle_cores = idle_cores(session.pool(), oversubscribed),
          .reads_ahead = !session.is_share() && is_in_order};
}

TrainingParts::TrainingParts(const Config& root, Session& its_session,
                             const ParameterWindow::Options& options)
    : session(its_session),
      updates_apart(session.settings().async && session.is_share()),
      order(order_options(root.at("data"), session, session.settings().batch)),
      facts(run_facts(session, order.steps_per_epoch())),
      optimizer(make_optimizer(root.at("train"), session)),
      schedule(
          make_schedule(root.at("train").at("schedule"), schedule_context(root.at("train"), session, facts))),
      warmup_steps(schedule_context(root.at("train"), session, facts).warmup),
      windows(session.mesh(), session.pool(), session.network().plan().parameter_borders(),
              window_options(options, session, *optimizer), session.network().split_parameter_end()),
      reducer(windows.make_reducer(session.mesh(), session.pool(),
                                   compressed_parameters(session.network(), session.compression()))),
      scalars(session.mesh(), windows.rest(), windows.front()),
      statistics(session.mesh(), session.pool(), options.share, session.virtual_workers()),
      batch(session, session.network()),
      micro_batches_per_epoch(
          BatchOrder(order_options(root.at("data"), session, session.settings().micro_batch()))
              .steps_per_epoch()),
      loader(session.data(), loader_options(root.at("data"), session, options.oversubscribed,
                                            first_number(facts.total_steps))),
      shard(session.network().plan(), windows, session.settings().async ? one_thread : session.pool(),
            {.states = updates_apart ? 0 : optimizer->states().size(),
             .initial = updates_apart ? 0 : optimizer->initial(),
             .counts_shared = session.mesh().model().rank() == 0 &&
                              (!windows.rest().plan().replicated() || session.mesh().data().rank() == 0),
             .ema = session.settings().ema,
             .keeps_gradients = session.settings().accumulate > 1,
             .rounds_changes = session.compression().is_bf16(),
             .matrices = optimizer->requires_matrices() ? optimizer.get() : nullptr}),
      consensus(scalars, session.mesh().model()),
      ema(session.settings().ema > 0, shard, scalars, *reducer),
      early_stopping(session.settings(), facts),
      outliers(session.settings().outliers, shard, scalars, session.mesh().model()) {
  check_batch_rows(session.network().plan(), loader.order(), session.shares());
  optimizer->begin(facts.steps_per_epoch *
                   (session.settings().async && optimizer->finds_directions() ? session.shares() : 1));
  if (optimizer->requires_norms()) norms.emplace(session.network().plan().parameters().size());
  if (session.network().splits_rows())
    split_statistics.emplace(session.mesh().as_data_ranks(), session.pool(), options.share,
                             session.network().split_workers());
  attach(statistics);
}

void TrainingParts::attach(StatisticsReducer& sums) {
  const Network::Sums rest{windows.rest().all_gradients(), sums, windows.shards_gradients()};
  session.network().read_from(windows.shards_parameters() ? reducer.get() : nullptr);
  if (!split_statistics) return session.network().attach(windows.values(), rest);
  Network::Sums split{{}, *split_statistics};
  if (windows.front()) split.gradients = windows.front()->all_gradients();
  session.network().attach(windows.values(), rest, &split);
}

std::int64_t TrainingParts::first_number(std::int64_t step) const {
  return step / facts.steps_per_epoch * micro_batches_per_epoch +
         step % facts.steps_per_epoch * session.settings().accumulate;
}

MicroBatch TrainingParts::first_micro_batch(std::int64_t step) {
  const std::span<const std::int64_t> samples = order.batch(step);
  const auto rows = static_cast<std::size_t>(session.settings().micro_batch());
  return {.samples = samples.first(std::min(rows, samples.size())),
          .batch = samples,
          .number = first_number(step),
          .step = step};
}

MicroBatch TrainingParts::next_micro_batch(const MicroBatch& last) const {
  const auto first = static_cast<std::size_t>(last.first + std::ssize(last.samples));
  const auto rows = static_cast<std::size_t>(session.settings().micro_batch());
  MicroBatch next = last;
  next.samples = last.batch.subspan(first, std::min(rows, last.batch.size() - first));
  next.first = static_cast<std::int64_t>(first);
  ++next.number;
  return next;
}

void TrainingParts::accumulate(const MicroBatch& micro_batch) {
  if (!micro_batch.is_last()) {
    shard.keep_gradients(micro_batch.is_first());
    scalars.barrier();  // others may still read what this rank's next backward writes
  } else if (!micro_batch.is_first()) {
    shard.add_kept_gradients();
  }
}

void TrainingParts::update(std::int64_t step, double rate) {
  if (const auto momentum = schedule->momentum(step)) optimizer->set_momentum(*momentum);
  shard.find_directions(*optimizer, step);
  if (norms) norms->find(shard, scalars, session.mesh().model());
  shard.update(*optimizer, static_cast<float>(rate), step,
               [this](std::int64_t end) { reducer->updated(end); });
}

std::chrono::nanoseconds TrainingParts::take_statistics_time() {
  return statistics.take_time() +
         (split_statistics ? split_statistics->take_time() : std::chrono::nanoseconds(0));
}

std::vector<std::string> TrainingParts::state_names() const {
  std::vector<std::string> names = optimizer->states();
  // A checkpoint stores the EMA as the weights, and the weights as a state.
  if (ema.is_on()) names.push_back("unaveraged");
  return names;
}

}  // namespace trainer
