#include "models/training/trainer.h"

#include <utility>

#include "engine/parallel/broadcast_text.h"
#include "engine/system/memory_use.h"
#include "models/checkpoints/weights.h"
#include "models/guards/divergence.h"
#include "models/initializers/initializer.h"
#include "models/training/evaluation.h"

namespace trainer {
namespace {

using Clock = Progress::Clock;

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

std::string fingerprint(const Data& data) {
  std::string text = data.name + ", " + std::to_string(data.train->size()) + " samples";
  for (const std::string& line : data.fingerprint) text += "; " + line;
  return text;
}

}  // namespace

Trainer::Trainer(const Config& root, Session& session, const Options& options)
    : session_(session),
      order_(order_options(root.at("data"), session, session.settings().batch)),
      facts_(run_facts(session, order_.steps_per_epoch())),
      config_(options.config),
      asked_to_stop_(options.asked_to_stop),
      deadline_(options.deadline),
      step_(root, session,
            {.reducer = options.reducer,
             .order = order_options(root.at("data"), session, session.settings().micro_batch()),
             .steps_per_epoch = facts_.steps_per_epoch,
             .total_steps = facts_.total_steps}),
      schedule_(make_schedule(root.at("train"), session, step_.optimizer().rate(), facts_)) {
  set_initial_values(root.at("model"), options);
}

void Trainer::set_initial_values(const Config& model, const Options& options) {
  Network& network = session_.network();
  const std::span<float> values = step_.window().values();
  if (!options.initial_weights.empty()) {
    load_weights(options.initial_weights, network.plan(), values, network.states());
  } else if (!options.resumes) {
    initialize(network.plan().parameters(), session_.settings().seed, values);
    if (model.has("weights")) {
      const Config weights = model.at("weights");
      load_weights_except(weights.get<std::vector<std::string>>("except"), weights.get<std::string>("file"),
                          network.plan(), values, network.states());
    }
  }
  step_.reducer().publish();
  if (session_.settings().ema > 0) step_.owned().begin_average();
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
  for (const std::string& state : step_.state_names()) suffixes.push_back("." + state);
  check_tensors(checkpoint.optimizer, plan, suffixes, false, place);
  const CheckpointState& state = checkpoint.state;
  const bool same_sums =
      state.epoch_sums.samples == 0 || state.epoch_sums.metrics.size() == session_.metric_sums();
  const auto same_metrics = [&](const std::optional<Scores>& scores) {
    return !scores || scores->metrics.size() == facts_.metrics.size();
  };
  if (!same_sums || !same_metrics(state.best) || !same_metrics(state.last) ||
      state.schedule.size() != schedule_->state().size())
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
  const std::vector<std::string> names = step_.state_names();
  spread_tensors(checkpoint.model, plan, "", step_.window().values(), world);
  spread_states(checkpoint.model, plan, session_.network().states(), world);
  std::vector<float> flat(static_cast<std::size_t>(plan.parameter_end()));
  for (std::size_t state = 0; state < names.size(); ++state) {
    spread_tensors(checkpoint.optimizer, plan, "." + names[state], flat, world);
    step_.owned().set_state(state, flat);
  }
  step_.reducer().publish();
  std::string text = text_of(checkpoint.state);
  broadcast_text(world, text);
  start_ = parse_checkpoint_state(text);
  schedule_->restore(start_.schedule);
  if (session_.settings().ema > 0) {
    step_.owned().swap_average(start_.step);
    step_.reducer().publish();
  }
  facts_.first_step = start_.step;
}

RunResult Trainer::run(const std::vector<Observer*>& observers, const std::filesystem::path& directory) {
  CheckpointFolder folder(directory, session_.settings().keep);
  if (session_.mesh().world().rank() == 0) folder.go_on(start_.step, start_.best ? start_.best_step : -1);
  writer_.emplace(CheckpointWriter::Sources{.plan = session_.network().plan(),
                                            .optimizer_states = step_.state_names(),
                                            .window = step_.window(),
                                            .owned = step_.owned(),
                                            .layer_states = session_.network().states(),
                                            .mesh = session_.mesh()},
                  std::move(folder));
  Progress progress{.steps_per_epoch = facts_.steps_per_epoch};
  progress.go_on_from(start_, start_.step > 0 ? schedule_->at(start_.step - 1) : 0);
  tell(observers, [&](Observer& observer) { observer.on_start(facts_); });
  step_.begin_guards(progress.step);
  if (facts_.total_steps == 0 || !start_.evaluated) end_step(progress, observers);

  while (progress.step < facts_.total_steps && !progress.result.stopped) {
    progress.report.step = progress.step + 1;
    progress.report.epoch = static_cast<int>(progress.step / facts_.steps_per_epoch) + 1;
    progress.report.rate = schedule_->at(progress.step);
    progress.report.logged = progress.report.step % session_.settings().log_every == 0;
    train_step(progress);
    progress.end_step(step_.batch().metric_sums());
    writer_->go_on(progress.all_written);
    tell(observers, [&](Observer& observer) { observer.on_step(progress.report); });
    end_step(progress, observers);
  }

  check_finite(progress);
  writer_->finish();
  progress.end();
  // No rank goes on, and gives memory back, before all have looked.
  progress.result.memory = proportional_memory();
  session_.mesh().world().sum(std::span(&progress.result.memory, 1));
  tell(observers, [&](Observer& observer) { observer.on_end(progress.result); });
  return progress.result;
}

void Trainer::train_step(Progress& progress) {
  const std::span<const std::int64_t> samples = order_.batch(progress.step);
  step_.compute_gradients(progress.step, samples);
  const TrainingStep::Votes votes = step_.agree({.stop = wants_to_stop(progress, step_.begun()),
                                                 .save = wants_to_save(progress, step_.begun()),
                                                 .writing = writer_->is_writing()},
                                                std::ssize(samples), progress.report.scores);
  progress.losses.add(progress.report.scores.loss);
  progress.result.stopped = votes.stop;
  progress.save_asked |= votes.save;
  progress.all_written = !votes.writing;
  // A step that is not finite ends the run, and none of its values is kept.
  if (votes.not_finite) throw_divergence(progress);
  step_.update(progress.step, progress.report.rate, schedule_->momentum(progress.step));
  progress.report.times = step_.times();
}

void Trainer::check_finite(const Progress& progress) {
  const std::string mine = step_.not_finite();
  std::int64_t found = mine.empty() ? 0 : 1;
  session_.mesh().world().sum(std::span(&found, 1));
  if (found > 0) throw_divergence(progress, mine);
}

void Trainer::throw_divergence(const Progress& progress, const std::string& array) {
  writer_->finish();
  const std::vector<std::span<float>> gradients = step_.window().all_gradients();
  const DivergenceFacts facts{.own_loss = step_.batch().own_loss(),
                              .gradients = {gradients.begin(), gradients.end()},
                              .overwritten = step_.reducer().overwritten(),
                              .array = array,
                              .losses = progress.losses,
                              .epoch = progress.report.epoch,
                              .step = progress.report.step,
                              .rate = progress.report.rate,
                              .parameters = session_.network().plan().parameters(),
                              .values = step_.window().values(),
                              .checkpoint = writer_->last()};
  throw divergence(session_.mesh().world(), facts);
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
    SampleLedger& ledger = step_.batch().ledger();
    ledger.verify(order_, progress.step, [this](std::span<double> totals) { step_.scalars().sum(totals); });
    ledger.begin(progress.step);
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

bool Trainer::evaluate_when_due(Progress& progress) {
  progress.evaluation.reset();
  progress.best = false;
  const Dataset* split = session_.evaluation_data();
  if (!split || !session_.settings().evaluate.due(progress.step, facts_.steps_per_epoch, facts_.total_steps))
    return false;
  step_.swap_average(progress.step);
  const auto scores = evaluate(session_, *split, [&] { return wants_to_stop(progress, Clock::now()); });
  step_.swap_average(progress.step);
  progress.result.stopped = !scores;
  if (!scores) return false;
  schedule_->see(scores->loss);
  progress.see(*scores, facts_.metrics);
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
  step_.owned().verify(progress.step);
  check_finite(progress);
  progress.save_asked = false;
  progress.saved = Clock::now();
  CheckpointState state = progress.state(pending);
  state.seed = session_.settings().seed;
  state.data = fingerprint(session_.data());
  state.config = config_;
  state.schedule = schedule_->state();
  step_.swap_average(progress.step);
  writer_->begin(state, progress.best,
                 [&] { tell(observers, [](Observer& observer) { observer.on_save(); }); });
  step_.swap_average(progress.step);
}

}  // namespace trainer
