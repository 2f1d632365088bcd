#include "models/training/trainer.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <iterator>
#include <utility>

#include "engine/math/elementwise.h"
#include "models/initializers/initializer.h"
#include "models/training/divergence.h"
#include "models/training/evaluation.h"
#include "models/training/weights.h"

namespace trainer {
namespace {

using Clock = std::chrono::steady_clock;

double seconds(Clock::duration duration) { return std::chrono::duration<double>(duration).count(); }

std::vector<std::int64_t> borders(const Plan& plan) {
  std::vector<std::int64_t> borders;
  for (const Parameter& parameter : plan.parameters()) borders.push_back(parameter.offset);
  borders.push_back(plan.parameter_end());
  return borders;
}

BatchOrder::Options order_options(const Config& data, const Session& session) {
  return {.samples = session.data().train->size(),
          .batch = session.settings().batch,
          .shuffle = data.get<bool>("shuffle"),
          .drop_last = data.get<bool>("drop_last"),
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

/// Sums over some steps, from which scores over them follow.
struct RunningScores {
  Scores sums;

  void add(const Scores& step) {
    const auto count = static_cast<double>(step.samples);
    sums.metrics.resize(step.metrics.size());
    sums.samples += step.samples;
    sums.loss += step.loss * count;
    for (std::size_t i = 0; i < step.metrics.size(); ++i) sums.metrics[i] += step.metrics[i] * count;
  }
  Scores mean() const {
    Scores mean = sums;
    const double count = static_cast<double>(std::max<std::int64_t>(1, sums.samples));
    mean.loss /= count;
    for (double& metric : mean.metrics) metric /= count;
    return mean;
  }
};

/// The first metric decides, else the loss.
bool is_better(const Scores& scores, const Scores& best, const std::vector<MetricFacts>& metrics) {
  if (metrics.empty()) return scores.loss < best.loss;
  return metrics[0].higher_is_better ? scores.metrics[0] > best.metrics[0]
                                     : scores.metrics[0] < best.metrics[0];
}

}  // namespace

/// Where a run stands.
struct Trainer::Progress {
  const std::vector<Observer*>& observers;
  CheckpointFolder checkpoints;
  std::int64_t step = 0;  ///< steps done
  Clock::time_point start = Clock::now(), epoch_start = start;
  Clock::duration training{}, communication{}, data{};  ///< of the whole run, without evaluation
  Clock::duration epoch_training{}, epoch_communication{}, epoch_data{};  ///< of this epoch
  RunningScores epoch;
  LossHistory losses;
  std::optional<Scores> evaluation;  ///< of the step just done
  bool best = false;                 ///< of the step just done
  RunResult result;

  template <class Tell>
  void tell(const Trainer& trainer, Tell what) const {
    if (trainer.session_.mesh().world().rank() == 0)
      for (Observer* observer : observers) what(*observer);
  }
};

Trainer::Trainer(const Config& root, Session& session, const Options& options)
    : session_(session),
      optimizer_(Registry<Optimizer>::make(root.at("train").at("optimizer"))),
      order_(order_options(root.at("data"), session)),
      facts_(run_facts(session, order_.steps_per_epoch())),
      schedule_(make_schedule(root.at("train"), session, optimizer_->rate(), facts_)),
      reducer_(session.mesh(), session.pool(), borders(session.network().plan()), options.reducer),
      batch_(session) {
  Network& network = session.network();
  std::vector<std::span<float>> gradients;
  for (int worker = 0; worker < session.pool().size(); ++worker)
    gradients.push_back(reducer_.gradients(worker));
  network.attach(reducer_.values(), gradients, session.batch_sum());
  if (options.initial_weights.empty())
    initialize(network.plan().parameters(), session.settings().seed, reducer_.values());
  else
    load_weights(options.initial_weights, network.plan(), reducer_.values(), network.states());
  reducer_.publish();
  make_segments();
}

void Trainer::make_segments() {
  const std::vector<Parameter>& parameters = session_.network().plan().parameters();
  const std::size_t states = optimizer_->states().size();
  std::int64_t owned = 0;
  for (const auto& piece : reducer_.pieces()) owned += piece.last - piece.first;
  optimizer_states_ = Arena(owned * static_cast<std::int64_t>(states));
  std::int64_t position = 0;
  for (const auto& piece : reducer_.pieces()) {
    for (std::size_t index = 0; index < parameters.size(); ++index) {
      const std::int64_t first = std::max(piece.first, parameters[index].offset);
      const std::int64_t last =
          std::min(piece.last, parameters[index].offset + parameters[index].shape.size());
      if (first >= last) continue;
      const auto size = static_cast<std::size_t>(last - first);
      Segment segment{
          .values = reducer_.values().subspan(static_cast<std::size_t>(first), size),
          .gradients = reducer_.sums(piece).subspan(static_cast<std::size_t>(first - piece.first), size),
          .is_weight = parameters[index].is_weight,
          .parameter = static_cast<int>(index)};
      for (std::size_t state = 0; state < states; ++state)
        segment.states.push_back(optimizer_states_.floats().subspan(
            static_cast<std::size_t>(position) + state * static_cast<std::size_t>(owned), size));
      position += last - first;
      segments_.push_back(std::move(segment));
      segment_offsets_.push_back(first);
    }
  }
}

RunResult Trainer::run(const std::vector<Observer*>& observers, const std::filesystem::path& directory) {
  Progress progress{.observers = observers, .checkpoints = CheckpointFolder(directory)};
  progress.tell(*this, [&](Observer& observer) { observer.on_start(facts_); });
  if (facts_.total_steps == 0) {
    evaluate_when_due(progress, {});
    save_when_due(progress);
  }

  while (progress.step < facts_.total_steps) {
    StepReport report{.step = progress.step + 1,
                      .epoch = static_cast<int>(progress.step / facts_.steps_per_epoch) + 1,
                      .rate = schedule_->at(progress.step)};
    const auto begin = Clock::now();
    report.scores = step(progress, order_.batch(progress.step));
    const auto taken = Clock::now() - begin;
    progress.training += taken;
    progress.epoch_training += taken;
    ++progress.step;

    progress.epoch.add(report.scores);
    report.time = seconds(Clock::now() - progress.start);
    report.examples_per_second =
        static_cast<double>(progress.epoch.sums.samples) / seconds(progress.epoch_training);
    report.comm_share = seconds(progress.epoch_communication) / seconds(progress.epoch_training);
    report.data_share = seconds(progress.epoch_data) / seconds(progress.epoch_training);
    report.logged = progress.step % session_.settings().log_every == 0;
    progress.tell(*this, [&](Observer& observer) { observer.on_step(report); });

    evaluate_when_due(progress, report);
    save_when_due(progress);

    if (progress.step % facts_.steps_per_epoch != 0 && progress.step != facts_.total_steps) continue;
    const EpochReport epoch{.epoch = report.epoch,
                            .step = progress.step,
                            .train = progress.epoch.mean(),
                            .evaluation = progress.evaluation,
                            .rate = report.rate,
                            .examples_per_second = report.examples_per_second,
                            .comm_share = report.comm_share,
                            .data_share = report.data_share,
                            .time = seconds(Clock::now() - progress.start),
                            .epoch_time = seconds(Clock::now() - progress.epoch_start),
                            .best = progress.best};
    progress.tell(*this, [&](Observer& observer) { observer.on_epoch(epoch); });
    progress.epoch = {};
    progress.epoch_training = progress.epoch_communication = progress.epoch_data = {};
    progress.epoch_start = Clock::now();
  }

  progress.result.steps = progress.step;
  progress.result.time = seconds(Clock::now() - progress.start);
  if (progress.step > 0) {
    progress.result.comm_share = seconds(progress.communication) / seconds(progress.training);
    progress.result.data_share = seconds(progress.data) / seconds(progress.training);
  }
  progress.tell(*this, [&](Observer& observer) { observer.on_end(progress.result); });
  return progress.result;
}

Scores Trainer::step(Progress& progress, std::span<const std::int64_t> samples) {
  const auto count = static_cast<std::int64_t>(samples.size());
  std::vector<std::int64_t> done(static_cast<std::size_t>(session_.pool().size()),
                                 session_.network().plan().parameter_end());
  batch_.clear();
  reducer_.begin();
  batch_.train(samples, progress.step / facts_.steps_per_epoch, progress.step,
               [&](int worker, std::int64_t offset) {
                 std::int64_t& end = done[static_cast<std::size_t>(worker)];
                 if (offset < end) reducer_.ready(worker, offset, std::exchange(end, offset));
               });
  progress.data += batch_.data_time();
  progress.epoch_data += batch_.data_time();

  const auto begin = Clock::now();
  reducer_.finish();
  // Loss and metrics, and how many ranks met a number that is not finite.
  std::vector<double> sums(batch_.sums().begin(), batch_.sums().end());
  const double own_loss = sums[0];
  bool finite = std::isfinite(own_loss);
  for (const Segment& segment : segments_)
    finite = finite && std::isfinite(square_sum(static_cast<std::int64_t>(segment.gradients.size()),
                                                segment.gradients.data()));
  sums.push_back(finite ? 0 : 1);
  reducer_.agree(sums);
  session_.mesh().model().sum(std::span(sums).last(1));
  const double not_finite = sums.back();
  sums.pop_back();
  const Scores scores = batch_.scores(sums, count);
  progress.losses.add(scores.loss);
  // A step that is not finite updates nothing.
  if (not_finite > 0)
    throw divergence(session_.mesh().world(), {.own_loss = own_loss,
                                               .losses = progress.losses,
                                               .epoch = progress.step / facts_.steps_per_epoch + 1,
                                               .step = progress.step + 1,
                                               .rate = schedule_->at(progress.step),
                                               .parameters = session_.network().plan().parameters(),
                                               .values = reducer_.values(),
                                               .checkpoint = progress.checkpoints.last()});

  const auto update = Clock::now();
  optimizer_->step(segments_, static_cast<float>(schedule_->at(progress.step)), progress.step);
  const auto publish = Clock::now();
  reducer_.publish();
  const auto communication = (Clock::now() - publish) + (update - begin);
  progress.communication += communication;
  progress.epoch_communication += communication;
  return scores;
}

void Trainer::evaluate_when_due(Progress& progress, const StepReport& after) {
  progress.evaluation.reset();
  progress.best = false;
  const Dataset* split = session_.evaluation_data();
  if (!split || !session_.settings().evaluate.due(progress.step, facts_.steps_per_epoch, facts_.total_steps))
    return;
  const Scores scores = evaluate(session_, *split);
  RunResult& result = progress.result;
  progress.best = !result.best || is_better(scores, *result.best, facts_.metrics);
  if (progress.best) {
    result.best = scores;
    result.best_epoch = after.epoch;
  }
  result.last = progress.evaluation = scores;
  progress.tell(*this,
                [&](Observer& observer) { observer.on_evaluation(after, facts_.evaluation_split, scores); });
}

void Trainer::save_when_due(Progress& progress) {
  const Cadence& cadence = session_.settings().checkpoint;
  if (cadence.kind == Cadence::Kind::never) return;
  if (!progress.best && !cadence.due(progress.step, facts_.steps_per_epoch, facts_.total_steps)) return;
  const Plan& plan = session_.network().plan();
  Checkpoint checkpoint{.model = gather_tensors(plan, reducer_.values(), session_.mesh())};
  std::ranges::move(state_tensors(plan, session_.network().states()), std::back_inserter(checkpoint.model));
  const std::vector<std::string> names = optimizer_->states();
  for (std::size_t state = 0; state < names.size(); ++state) {
    const std::vector<float> flat = gather_state(state);
    if (session_.mesh().data().rank() != 0) continue;
    for (NamedTensor& tensor : gather_tensors(plan, flat, session_.mesh())) {
      tensor.name += "." + names[state];
      checkpoint.optimizer.push_back(std::move(tensor));
    }
  }
  if (session_.mesh().world().rank() != 0) return;
  checkpoint.state = checkpoint_state(
      {.step = progress.step, .steps_per_epoch = facts_.steps_per_epoch, .seed = session_.settings().seed});
  progress.checkpoints.save(progress.step, checkpoint, progress.best);
}

std::vector<float> Trainer::gather_state(std::size_t state) {
  // Each rank sends runs of (offset, count, numbers).
  std::vector<std::byte> message;
  const auto append = [&](const void* data, std::size_t bytes) {
    const auto* begin = static_cast<const std::byte*>(data);
    message.insert(message.end(), begin, begin + bytes);
  };
  for (std::size_t i = 0; i < segments_.size(); ++i) {
    const std::span<const float> numbers = segments_[i].states[state];
    const std::int64_t place[2] = {segment_offsets_[i], static_cast<std::int64_t>(numbers.size())};
    append(place, sizeof place);
    append(numbers.data(), numbers.size_bytes());
  }
  Communicator& data = session_.mesh().data();
  const std::vector<std::vector<std::byte>> all = data.gather(message, 0);
  if (data.rank() != 0) return {};
  std::vector<float> flat(static_cast<std::size_t>(session_.network().plan().parameter_end()));
  for (const std::vector<std::byte>& part : all)
    for (std::size_t at = 0; at < part.size();) {
      std::int64_t place[2];
      std::memcpy(place, part.data() + at, sizeof place);
      at += sizeof place;
      const std::size_t bytes = static_cast<std::size_t>(place[1]) * sizeof(float);
      std::memcpy(flat.data() + place[0], part.data() + at, bytes);
      at += bytes;
    }
  return flat;
}

}  // namespace trainer
