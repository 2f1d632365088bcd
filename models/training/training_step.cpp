#include "models/training/training_step.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <utility>

#include "engine/system/cores.h"
#include "engine/system/host.h"
#include "models/training/gradient_clip.h"

namespace trainer {
namespace {

ParameterWindow::Options in_exact_blocks(ParameterWindow::Options options, const Session& session) {
  options.virtual_workers = session.exact_blocks();
  return options;
}

/// Cores of this rank that no worker uses. What a quota grants is not this rank's alone.
int idle_cores(const ThreadPool& pool, bool crowded) {
  const std::vector<int> cores = usable_cores();
  const int count = static_cast<int>(cores.size());
  return crowded || granted_cores(cores) < count ? 0 : std::max(0, count - pool.size());
}

}  // namespace

TrainingStep::TrainingStep(const Config& root, Session& session, const Options& options)
    : session_(session),
      optimizer_(Registry<Optimizer>::make(root.at("train").at("optimizer"))),
      steps_per_epoch_(options.steps_per_epoch),
      parts_per_epoch_(BatchOrder(options.order).steps_per_epoch()),
      window_(session.mesh(), session.pool(), session.network().plan().parameter_borders(),
              in_exact_blocks(options.reducer, session)),
      reducer_(make_gradient_reducer(session.mesh(), session.pool(), window_)),
      scalars_(session.mesh(), window_),
      team_(session.mesh(), session.pool(), options.reducer.share, session.exact_blocks()),
      batch_(session),
      rows_(session.data(), {.order = options.order,
                             .own_rows = [this](std::int64_t rows) { return batch_.own_rows(rows); },
                             .end_step = first_part(options.total_steps),
                             .workers = session.pool().size(),
                             .idle_cores = idle_cores(session.pool(), options.reducer.crowded)}),
      owned_(session.network().plan(), window_, session.pool(),
             {.states = optimizer_->states().size(),
              .initial = optimizer_->initial(),
              .counts_shared = session.mesh().model().rank() == 0,
              .average = session.settings().ema,
              .keeps_gradients = session.settings().accumulate > 1}) {
  optimizer_->begin(steps_per_epoch_);
  Network& network = session.network();
  if (optimizer_->requires_norms()) norms_.emplace(network.plan().parameters().size());
  if (session.settings().crosscheck > 0) crosscheck_.emplace(root, session, window_, team_);
  network.attach(window_.values(), window_.all_gradients(), crosscheck_ ? crosscheck_->sums() : team_);
}

std::vector<std::string> TrainingStep::state_names() const {
  std::vector<std::string> names = optimizer_->states();
  // While a checkpoint is made the mean and the values have changed places.
  if (session_.settings().ema > 0) names.push_back("unaveraged");
  return names;
}

void TrainingStep::begin_guards(std::int64_t step) {
  batch_.ledger().begin(step);
  const bool guarded = session_.settings().guards.kind != Cadence::Kind::never;
  replicas_.emplace(session_.network().plan(), session_.network().states(), session_.mesh(), window_,
                    guarded ? session_.settings().guards.count : 0);
  if (!guarded) return;
  owned_.guard({.parameters = session_.network().plan().parameters(),
                .states = state_names(),
                .place = fmt::format("rank {} on {}", session_.mesh().world().rank(), host_name())});
}

std::int64_t TrainingStep::first_part(std::int64_t step) const {
  return step / steps_per_epoch_ * parts_per_epoch_ +
         step % steps_per_epoch_ * session_.settings().accumulate;
}

void TrainingStep::compute_gradients(std::int64_t step, std::span<const std::int64_t> samples) {
  begun_ = Clock::now();
  session_.mesh().world().heartbeat().set_step(step + 1);
  batch_.clear();
  const bool crosschecks = crosscheck_ && crosscheck_->begin(step);
  const std::int64_t rows = session_.settings().micro_batch();
  std::int64_t parts = 0;
  for (std::int64_t first = 0; first < std::ssize(samples); first += rows, ++parts) {
    if (parts > 0) {
      reducer_->finish();
      owned_.keep_gradients(parts == 1);
      scalars_.barrier();  // others may still be reading what this rank is about to write
    }
    const std::int64_t count = std::min(rows, std::ssize(samples) - first);
    compute_part(
        {.samples = samples.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count)),
         .batch = samples,
         .number = first_part(step) + parts,
         .step = step},
        crosschecks && parts == 0);
  }
  const auto computed = Clock::now();
  reducer_->finish();
  if (parts > 1) owned_.add_kept_gradients();
  times_.data = batch_.data_time();
  times_.sum = Clock::now() - computed;
}

void TrainingStep::compute_part(const BatchRunner::Part& part, bool crosschecks) {
  reducer_->begin();
  batch_.train(rows_, part, crosschecks ? nullptr : reducer_.get());
  if (!crosschecks) return;
  crosscheck_->compare(batch_, rows_, part);
  for (int worker = 0; worker < session_.pool().size(); ++worker) reducer_->ready(worker, 0);
}

TrainingStep::Votes TrainingStep::agree(const Votes& mine, std::int64_t samples, Scores& scores) {
  const std::uint32_t largest = owned_.largest_gradient();
  const bool finite = is_finite_magnitude(largest);
  const std::array votes{!finite || !std::isfinite(batch_.own_loss()), mine.stop, mine.save, mine.writing};
  sums_.assign(batch_.sums().begin(), batch_.sums().end());
  const std::size_t kinds = sums_.size();
  for (const bool vote : votes) sums_.push_back(vote ? 1 : 0);
  if (clips()) sums_.push_back(largest);

  const auto begin = Clock::now();
  scalars_.sum(sums_, clips() ? 1 : 0);
  const std::span<double> counts = std::span(sums_).subspan(kinds, votes.size());
  session_.mesh().model().sum(counts);
  agreed_ = Clock::now();
  times_.agree = agreed_ - begin;

  batch_.scores(std::span(sums_).first(kinds), samples, scores);
  if (clips()) largest_ = sums_.back();
  return {
      .not_finite = counts[0] > 0, .stop = counts[1] > 0, .save = counts[2] > 0, .writing = counts[3] > 0};
}

void TrainingStep::update(std::int64_t step, double rate, std::optional<double> momentum) {
  if (const auto limit = session_.settings().clip_value) owned_.clamp_gradients(static_cast<float>(*limit));
  if (clips()) clip_gradient();
  if (momentum) optimizer_->set_momentum(*momentum);
  if (norms_) {
    owned_.direct(*optimizer_, step);
    norms_->find(owned_, scalars_, session_.mesh().model());
  }
  owned_.update(*optimizer_, static_cast<float>(rate), step);
  const auto updated = Clock::now();
  replicas_->before_publish(step);
  reducer_->publish();
  replicas_->after_publish(step + 1);
  const auto end = Clock::now();
  times_.update = updated - agreed_;
  times_.publish = end - updated;
  times_.training = end - begun_;
}

std::string TrainingStep::not_finite() {
  Network& network = session_.network();
  const Plan& plan = network.plan();
  if (std::string name = owned_.not_finite(plan.parameters(), state_names()); !name.empty()) return name;
  for (const State& state : plan.states()) {
    const float* numbers = network.states().data() + state.offset;
    if (!is_finite_magnitude(largest_magnitude(state.shape.size(), numbers))) return state.name;
  }
  return "";
}

void TrainingStep::clip_gradient() {
  Communicator& model = session_.mesh().model();
  double largest = largest_;
  model.maximum({&largest, 1});
  // As clamping has left it; the bits of floats above zero are in the order of the floats.
  if (const auto limit = session_.settings().clip_value)
    largest = std::min<double>(largest, std::bit_cast<std::uint32_t>(static_cast<float>(*limit)));
  SquareSum squares(static_cast<std::uint32_t>(largest));
  owned_.add_squares(squares);
  std::array<double, 2> parts{squares.high(), squares.low()};
  scalars_.sum(parts);
  model.sum(parts);
  const float factor = clip_factor(squares.root(parts[0], parts[1]), *session_.settings().clip_norm);
  if (factor < 1) owned_.scale_gradients(factor);
}

void TrainingStep::swap_average(std::int64_t step) {
  if (session_.settings().ema == 0) return;
  scalars_.barrier();  // nobody reads the values any more
  owned_.swap_average(step);
  replicas_->before_publish(step);
  reducer_->publish();
  replicas_->after_publish(step);
}

}  // namespace trainer
