#include "models/training/trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <iterator>
#include <utility>

#include "engine/core/cores.h"
#include "engine/core/host.h"
#include "engine/core/memory_use.h"
#include "engine/parallel/broadcast_text.h"
#include "models/initializers/initializer.h"
#include "models/training/divergence.h"
#include "models/training/evaluation.h"
#include "models/training/gradient_clip.h"
#include "models/training/weights.h"

namespace trainer {
namespace {

using Clock = Progress::Clock;

/// What ranks tell one another at each step besides their sums.
constexpr std::size_t kVotes = 4;

std::vector<std::int64_t> borders(const Plan& plan) {
  std::vector<std::int64_t> borders;
  for (const Parameter& parameter : plan.parameters()) borders.push_back(parameter.offset);
  borders.push_back(plan.parameter_end());
  return borders;
}

BatchOrder::Options order_options(const Config& data, const Session& session, std::int64_t batch) {
  return {.samples = session.data().train->size(),
          .batch = batch,
          .shuffle = data.get<bool>("shuffle"),
          .drop_last = data.get<bool>("drop_last"),
          .streams = data.get<bool>("streams"),
          .seed = session.settings().seed};
}

RunFacts run_facts(const Session& session, std::int64_t steps_per_epoch) {
  const std::int64_t total = session.settings().total_steps(steps_per_epoch);
  return {.steps_per_epoch = steps_per_epoch,
          .total_steps = total,
          .batch = session.settings().batch,
          .epochs = static_cast<int>((total + steps_per_epoch - 1) / steps_per_epoch),
          .metrics = session.metric_facts(),
          .evaluation_split = session.evaluation_split()};
}

std::unique_ptr<Schedule> make_schedule(const Config& train, const Session& session, double rate,
                                        const RunFacts& facts) {
  const ScheduleContext context{
      .rate = rate, .steps_per_epoch = facts.steps_per_epoch, .total_steps = facts.total_steps};
  auto schedule = Registry<Schedule, const ScheduleContext&>::make(train.at("schedule"), context);
  if (!session.settings().warmup) return schedule;
  return with_warmup(std::move(schedule), context.steps(*session.settings().warmup));
}

GradientReducer::Options in_exact_blocks(GradientReducer::Options options, const Session& session) {
  options.exact_blocks = session.exact_blocks();
  return options;
}

std::string fingerprint(const Data& data) {
  std::string text = data.name + ", " + std::to_string(data.train->size()) + " samples";
  for (const std::string& line : data.fingerprint) text += "; " + line;
  return text;
}

/// Cores of this rank that no worker uses.
int idle_cores(const ThreadPool& pool, bool crowded) {
  return crowded ? 0 : std::max(0, static_cast<int>(usable_cores().size()) - pool.size());
}

/// The first metric decides, else the loss. A metric of samples that say nothing about it is NaN: any other
/// is better.
bool is_better(const Scores& scores, const Scores& best, const std::vector<MetricFacts>& metrics) {
  const double now = metrics.empty() ? scores.loss : scores.metrics[0],
               before = metrics.empty() ? best.loss : best.metrics[0];
  if (std::isnan(before)) return !std::isnan(now);
  return !metrics.empty() && metrics[0].higher_is_better ? now > before : now < before;
}

}  // namespace

Trainer::Trainer(const Config& root, Session& session, const Options& options)
    : session_(session),
      optimizer_(Registry<Optimizer>::make(root.at("train").at("optimizer"))),
      order_(order_options(root.at("data"), session, session.settings().batch)),
      parts_per_epoch_(
          BatchOrder(order_options(root.at("data"), session, session.settings().part())).steps_per_epoch()),
      facts_(run_facts(session, order_.steps_per_epoch())),
      asked_to_stop_(options.asked_to_stop),
      deadline_(options.deadline),
      schedule_(make_schedule(root.at("train"), session, optimizer_->rate(), facts_)),
      reducer_(session.mesh(), session.pool(), borders(session.network().plan()),
               in_exact_blocks(options.reducer, session)),
      team_(session.mesh(), session.pool(), options.reducer.share, session.exact_blocks()),
      batch_(session),
      rows_(session.data(), {.order = order_options(root.at("data"), session, session.settings().part()),
                             .own_rows = [this](std::int64_t rows) { return batch_.own_rows(rows); },
                             .end_step = first_part(facts_.total_steps),
                             .workers = session.pool().size(),
                             .idle_cores = idle_cores(session.pool(), options.reducer.crowded)}),
      owned_(session.network().plan(), reducer_, session.pool(),
             {.states = optimizer_->states().size(),
              .counts_shared = session.mesh().model().rank() == 0,
              .average = session.settings().average,
              .keeps_gradients = session.settings().accumulate > 1}),
      ready_until_(static_cast<std::size_t>(session.pool().size())) {
  optimizer_->begin(facts_.steps_per_epoch);
  if (optimizer_->wants_norms()) norms_.emplace(session.network().plan().parameters().size());
  Network& network = session.network();
  std::vector<std::span<float>> gradients;
  const std::int64_t blocks = session.blocks().of_rank(session.mesh().data().rank()).count();
  for (int block = 0; block < blocks; ++block) gradients.push_back(reducer_.gradients(block));
  if (session.settings().crosscheck > 0) crosscheck_.emplace(root, session, reducer_, team_);
  network.attach(reducer_.values(), gradients, crosscheck_ ? crosscheck_->sums() : team_);
  initialize(network.plan().parameters(), session.settings().seed, reducer_.values());
  const Config model = root.at("model");
  if (!options.initial_weights.empty()) {
    load_weights(options.initial_weights, network.plan(), reducer_.values(), network.states());
  } else if (model.has("weights") && !options.goes_on) {
    const Config weights = model.at("weights");
    load_weights_except(weights.get<std::vector<std::string>>("except"), weights.get<std::string>("file"),
                        network.plan(), reducer_.values(), network.states());
  }
  reducer_.publish();
  if (session.settings().average > 0) owned_.begin_average();
}

std::vector<std::string> Trainer::state_names() const {
  std::vector<std::string> names = optimizer_->states();
  // While a checkpoint is made the mean and the values have changed places.
  if (session_.settings().average > 0) names.push_back("unaveraged");
  return names;
}

std::int64_t Trainer::first_part(std::int64_t step) const {
  return step / facts_.steps_per_epoch * parts_per_epoch_ +
         step % facts_.steps_per_epoch * session_.settings().accumulate;
}

template <class Tell>
void Trainer::tell(const std::vector<Observer*>& observers, Tell what) const {
  if (session_.mesh().world().rank() == 0)
    for (Observer* observer : observers) what(*observer);
}

void Trainer::check_fit(const Checkpoint& checkpoint, const std::string& place) const {
  const Plan& plan = session_.network().plan();
  check_tensors(checkpoint.model, plan, {""}, true, place);
  std::vector<std::string> suffixes;
  for (const std::string& state : state_names()) suffixes.push_back("." + state);
  check_tensors(checkpoint.optimizer, plan, suffixes, false, place);
  const CheckpointState& state = checkpoint.state;
  const bool same_sums =
      state.epoch_sums.samples == 0 || state.epoch_sums.metrics.size() == session_.metric_sums();
  if (!same_sums || state.schedule.size() != schedule_->state().size())
    throw Error(ExitCode::weights,
                {Diagnostic{.what = "the checkpoint was made with another schedule or other metrics",
                            .place = place}});
  if (state.data != fingerprint(session_.data()) || state.steps_per_epoch != facts_.steps_per_epoch)
    throw Error(ExitCode::data,
                {Diagnostic{.what = "the data is not what the run learned from",
                            .place = place,
                            .notes = {"then: " + state.data, "now: " + fingerprint(session_.data())}}});
}

void Trainer::restore(const Checkpoint& checkpoint) {
  Communicator& world = session_.mesh().world();
  const Plan& plan = session_.network().plan();
  const std::vector<std::string> names = state_names();
  spread_tensors(checkpoint.model, plan, "", reducer_.values(), world);
  spread_states(checkpoint.model, plan, session_.network().states(), world);
  std::vector<float> flat(static_cast<std::size_t>(plan.parameter_end()));
  for (std::size_t state = 0; state < names.size(); ++state) {
    spread_tensors(checkpoint.optimizer, plan, "." + names[state], flat, world);
    owned_.set_state(state, flat);
  }
  reducer_.publish();
  std::string text = text_of(checkpoint.state);
  broadcast_text(world, text);
  start_ = parse_checkpoint_state(text);
  schedule_->restore(start_.schedule);
  if (session_.settings().average > 0) {
    owned_.swap_average(start_.step);
    reducer_.publish();
  }
  facts_.first_step = start_.step;
}

RunResult Trainer::run(const std::vector<Observer*>& observers, const std::filesystem::path& directory) {
  CheckpointFolder folder(directory, session_.settings().keep);
  if (session_.mesh().world().rank() == 0) folder.go_on(start_.step, start_.best_step);
  writer_.emplace(CheckpointWriter::Sources{.plan = session_.network().plan(),
                                            .optimizer_states = state_names(),
                                            .reducer = reducer_,
                                            .owned = owned_,
                                            .layer_states = session_.network().states(),
                                            .mesh = session_.mesh()},
                  std::move(folder));
  Progress progress{.steps_per_epoch = facts_.steps_per_epoch};
  progress.go_on_from(start_, start_.step > 0 ? schedule_->at(start_.step - 1) : 0);
  tell(observers, [&](Observer& observer) { observer.on_start(facts_); });
  begin_guards(progress);
  if (facts_.total_steps == 0 || !start_.evaluated) end_step(progress, observers);

  while (progress.step < facts_.total_steps && !progress.result.stopped) {
    progress.report.step = progress.step + 1;
    progress.report.epoch = static_cast<int>(progress.step / facts_.steps_per_epoch) + 1;
    progress.report.rate = schedule_->at(progress.step);
    progress.report.logged = progress.report.step % session_.settings().log_every == 0;
    step(progress, order_.batch(progress.step));
    progress.end_step(batch_.metric_sums());
    writer_->go_on(progress.all_written);
    tell(observers, [&](Observer& observer) { observer.on_step(progress.report); });
    end_step(progress, observers);
  }

  session_.mesh().world().activity().expect_delay(true);
  writer_->finish();
  progress.end();
  // No rank goes on, and gives memory back, before all have looked.
  progress.result.memory = proportional_memory();
  session_.mesh().world().sum(std::span(&progress.result.memory, 1));
  tell(observers, [&](Observer& observer) { observer.on_end(progress.result); });
  return progress.result;
}

void Trainer::end_step(Progress& progress, const std::vector<Observer*>& observers) {
  if (progress.result.stopped) return stop(progress, observers);
  if (evaluate_when_due(progress))
    tell(observers, [&](Observer& observer) {
      observer.on_evaluation(progress.report, facts_.evaluation_split, *progress.evaluation);
    });
  if (progress.result.stopped) return stop(progress, observers);
  const bool ends_epoch = progress.step > 0 && (progress.step % facts_.steps_per_epoch == 0 ||
                                                progress.step == facts_.total_steps);
  if (ends_epoch && progress.step > start_.step) {
    batch_.ledger().verify(order_, progress.step,
                           [this](std::span<double> totals) { reducer_.agree(totals); });
    batch_.ledger().begin(progress.step);
  }
  if (ends_epoch) {
    EpochReport report = progress.epoch_report();
    session_.metric_values(progress.epoch_sums.metrics, report.train.metrics);
    tell(observers, [&](Observer& observer) { observer.on_epoch(report); });
  }
  // A last epoch that is cut short goes on where a run is made longer.
  if (progress.step % facts_.steps_per_epoch == 0) progress.begin_epoch();
  save_when_due(progress, observers);
}

std::int64_t Trainer::train_batch(const Progress& progress, std::span<const std::int64_t> samples) {
  const bool crosschecks = crosscheck_ && crosscheck_->begin(progress.step);
  bool checked = false;
  const auto on_ready = [this, &checked](int worker, std::int64_t offset) {
    if (checked) return;
    std::int64_t& end = ready_until_[static_cast<std::size_t>(worker)];
    if (offset < end) reducer_.ready(worker, offset, std::exchange(end, offset));
  };
  const std::int64_t rows = session_.settings().part();
  std::int64_t part = 0;
  for (std::int64_t first = 0; first < std::ssize(samples); first += rows, ++part) {
    if (part > 0) {
      reducer_.finish();
      owned_.keep_gradients(part == 1);
      reducer_.agree({});  // others may still be reading what this rank is about to write
    }
    reducer_.begin();
    std::ranges::fill(ready_until_, session_.network().plan().parameter_end());
    const std::int64_t count = std::min(rows, std::ssize(samples) - first);
    const BatchRunner::Part now{
        .samples = samples.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count)),
        .batch = samples,
        .number = first_part(progress.step) + part,
        .step = progress.step};
    checked = crosschecks && part == 0;
    batch_.train(rows_, now, on_ready);
    if (checked) {
      crosscheck_->compare(batch_, rows_, now);
      for (int worker = 0; worker < session_.pool().size(); ++worker)
        reducer_.ready(worker, 0, session_.network().plan().parameter_end());
    }
  }
  return part;
}

void Trainer::step(Progress& progress, std::span<const std::int64_t> samples) {
  const auto begin = Clock::now();
  Activity& activity = session_.mesh().world().activity();
  activity.set_step(progress.report.step);
  batch_.clear();
  const std::int64_t parts = train_batch(progress, samples);

  const auto sum = Clock::now();
  reducer_.finish();
  if (parts > 1) owned_.add_kept_gradients();
  const auto check = Clock::now();
  // Loss and metrics, and how many ranks met a number that is not finite, want to stop, want to
  // save, are still writing.
  sums_.assign(batch_.sums().begin(), batch_.sums().end());
  const double own_loss = batch_.own_loss();
  // What clipping has to know anyway tells it, too.
  const bool clips = session_.settings().clip_norm.has_value();
  const std::uint32_t largest = clips ? owned_.largest_gradient() : 0;
  const bool finite = clips ? is_finite_magnitude(largest) : owned_.gradients_are_finite();
  const std::size_t scores = sums_.size();
  sums_.push_back(std::isfinite(own_loss) && finite ? 0 : 1);
  sums_.push_back(wants_to_stop(progress, begin) ? 1 : 0);
  sums_.push_back(wants_to_save(progress, begin) ? 1 : 0);
  sums_.push_back(writer_->is_writing() ? 1 : 0);
  if (clips) sums_.push_back(largest);
  const auto agree = Clock::now();
  reducer_.agree(sums_, clips ? 1 : 0);
  const std::span<double> votes = std::span(sums_).subspan(scores, kVotes);
  session_.mesh().model().sum(votes);
  activity.expect_delay(false);
  const auto agreed = Clock::now();
  batch_.scores(std::span(sums_).first(scores), std::ssize(samples), progress.report.scores);
  progress.losses.add(progress.report.scores.loss);
  progress.result.stopped = votes[1] > 0;
  progress.save_asked |= votes[2] > 0;
  progress.all_written = votes[3] == 0;
  // A step that is not finite updates nothing.
  if (votes[0] > 0) throw_divergence(progress, own_loss);

  if (session_.settings().clip_value)
    owned_.clamp_gradients(static_cast<float>(*session_.settings().clip_value));
  if (clips) clip_gradient(sums_.back());
  if (const auto momentum = schedule_->momentum(progress.step)) optimizer_->set_momentum(*momentum);
  if (norms_) {
    owned_.direct(*optimizer_, progress.step);
    norms_->find(owned_, reducer_, session_.mesh().model());
  }
  owned_.update(*optimizer_, static_cast<float>(progress.report.rate), progress.step);
  const auto publish = Clock::now();
  replicas_->before_publish(progress.step);
  reducer_.publish();
  replicas_->after_publish(progress.step + 1);
  const auto end = Clock::now();
  progress.report.times = {.training = end - begin,
                           .data = batch_.data_time(),
                           .sum = check - sum,
                           .agree = agreed - agree,
                           .update = publish - agreed,
                           .publish = end - publish};
}

void Trainer::throw_divergence(const Progress& progress, double own_loss) {
  writer_->finish();
  DivergenceFacts facts{.own_loss = own_loss,
                        .losses = progress.losses,
                        .epoch = progress.report.epoch,
                        .step = progress.report.step,
                        .rate = progress.report.rate,
                        .parameters = session_.network().plan().parameters(),
                        .values = reducer_.values(),
                        .checkpoint = writer_->last()};
  const std::int64_t blocks = session_.blocks().of_rank(session_.mesh().data().rank()).count();
  for (int block = 0; block < blocks; ++block) facts.gradients.push_back(reducer_.gradients(block));
  if (session_.blocks().count > 1)
    for (const auto& ranges : {reducer_.pieces(), reducer_.copies()})
      facts.sums.insert(facts.sums.end(), ranges.begin(), ranges.end());
  throw divergence(session_.mesh().world(), facts);
}

void Trainer::begin_guards(const Progress& progress) {
  batch_.ledger().begin(progress.step);
  const bool guarded = session_.settings().guards.kind != Cadence::Kind::never;
  replicas_.emplace(session_.network().plan(), session_.network().states(), session_.mesh(), reducer_,
                    guarded ? session_.settings().guards.count : 0);
  if (!guarded) return;
  owned_.guard({.parameters = session_.network().plan().parameters(),
                .states = state_names(),
                .place = fmt::format("rank {} on {}", session_.mesh().world().rank(), host_name())},
               *optimizer_);
}

void Trainer::clip_gradient(double largest) {
  Communicator& model = session_.mesh().model();
  model.maximum({&largest, 1});
  // As clamping has left it; the bits of floats above zero are in the order of the floats.
  if (const auto limit = session_.settings().clip_value)
    largest = std::min<double>(largest, std::bit_cast<std::uint32_t>(static_cast<float>(*limit)));
  SquareSum squares(static_cast<std::uint32_t>(largest));
  owned_.add_squares(squares);
  std::array<double, 2> parts{squares.high(), squares.low()};
  reducer_.agree(parts);
  model.sum(parts);
  const float factor = clip_factor(squares.root(parts[0], parts[1]), *session_.settings().clip_norm);
  if (factor < 1) owned_.scale_gradients(factor);
}

void Trainer::swap_average(const Progress& progress) {
  if (session_.settings().average == 0) return;
  reducer_.agree({});  // nobody reads the values any more
  owned_.swap_average(progress.step);
  replicas_->before_publish(progress.step);
  reducer_.publish();
  replicas_->after_publish(progress.step);
}

bool Trainer::evaluate_when_due(Progress& progress) {
  progress.evaluation.reset();
  progress.best = false;
  const Dataset* split = session_.evaluation_data();
  if (!split || !session_.settings().evaluate.due(progress.step, facts_.steps_per_epoch, facts_.total_steps))
    return false;
  RunResult& result = progress.result;
  swap_average(progress);
  const auto scores = evaluate(session_, *split, [&] { return wants_to_stop(progress, Clock::now()); });
  swap_average(progress);
  result.stopped = !scores;
  if (!scores) return false;
  schedule_->see(scores->loss);
  progress.best = !result.best || is_better(*scores, *result.best, facts_.metrics);
  if (progress.best) {
    result.best = scores;
    result.best_epoch = progress.step == 0 ? 0 : progress.report.epoch;
    progress.best_step = progress.step;
  }
  result.last = progress.evaluation = scores;
  return true;
}

void Trainer::save_when_due(Progress& progress, const std::vector<Observer*>& observers) {
  const Cadence& cadence = session_.settings().checkpoint;
  if (cadence.kind == Cadence::Kind::never) return;
  if (progress.best || progress.save_asked ||
      cadence.due(progress.step, facts_.steps_per_epoch, facts_.total_steps))
    save(progress, observers, false);
}

bool Trainer::wants_to_stop(const Progress& progress, Clock::time_point now) const {
  if (asked_to_stop_ && asked_to_stop_()) return true;
  return deadline_ && now + progress.time_to_stop(writer_->longest()) >= *deadline_;
}

bool Trainer::wants_to_save(const Progress& progress, Clock::time_point now) const {
  const Cadence& cadence = session_.settings().checkpoint;
  return cadence.kind == Cadence::Kind::minutes && session_.mesh().world().rank() == 0 &&
         now - progress.saved >= std::chrono::duration<double, std::ratio<60>>(cadence.minutes);
}

void Trainer::stop(Progress& progress, const std::vector<Observer*>& observers) {
  progress.best = false;
  if (session_.settings().checkpoint.kind != Cadence::Kind::never) save(progress, observers, true);
}

void Trainer::save(Progress& progress, const std::vector<Observer*>& observers, bool pending) {
  session_.mesh().world().activity().expect_delay(true);
  owned_.verify(progress.step);
  progress.save_asked = false;
  progress.saved = Clock::now();
  tell(observers, [](Observer& observer) { observer.on_save(); });
  CheckpointState state = progress.state(pending);
  state.seed = session_.settings().seed;
  state.data = fingerprint(session_.data());
  state.schedule = schedule_->state();
  swap_average(progress);
  writer_->begin(state, progress.best);
  swap_average(progress);
}

}  // namespace trainer
