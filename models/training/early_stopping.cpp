#include "models/training/early_stopping.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/core/counted.h"
#include "models/training/step_clock.h"

namespace trainer {
namespace {

double seconds_of(const Progress& run) { return in_seconds(Progress::Clock::now() - run.start); }

}  // namespace

EarlyStopping::EarlyStopping(const TrainSettings& settings, const RunFacts& facts)
    : settings_(settings.early_stopping), stop_(settings.stop), split_(facts.evaluation_split) {
  watched_.push_back({.name = "loss"});
  for (const MetricFacts& metric : facts.metrics)
    watched_.push_back({.name = metric.name, .higher_is_better = metric.higher_is_better});
  first_ = facts.metrics.empty() ? 0 : 1;
  if (settings_ && !settings_->metric.empty())
    first_ = static_cast<std::size_t>(std::ranges::find(watched_, settings_->metric, &Watched::name) -
                                      watched_.begin());
}

std::vector<double> EarlyStopping::state() const {
  std::vector<double> state;
  if (watched_.front().is_empty) return state;
  for (const Watched& watched : watched_)
    state.insert(state.end(), {watched.best, static_cast<double>(watched.waited)});
  return state;
}

void EarlyStopping::restore(const std::vector<double>& state, const std::optional<Scores>& last,
                            double seconds) {
  if (state.size() == 2 * watched_.size())
    for (std::size_t i = 0; i < watched_.size(); ++i) {
      watched_[i].best = state[2 * i];
      const double waited = state[2 * i + 1];  // of a file: anything
      watched_[i].waited = waited >= 0 && waited <= kMaxEpochs ? static_cast<std::int64_t>(waited) : 0;
      watched_[i].is_empty = false;
    }
  if (last) reason_ = reason_after(*last);
  if (reason_.empty() && is_over(seconds)) reason_ = time_text();
}

std::string EarlyStopping::time_text() const {
  return fmt::format("{:g} s of training are over", *stop_.seconds);
}

bool EarlyStopping::is_over(double seconds) const { return stop_.seconds && seconds >= *stop_.seconds; }

void EarlyStopping::before_consensus(const Progress& run, Signals& mine) {
  mine.time_is_over |= is_over(seconds_of(run));
}

void EarlyStopping::before_update(std::int64_t, const Signals& all) { is_time_over_ |= all.time_is_over; }

void EarlyStopping::after_step(Progress& run) {
  if (!is_time_over_ || run.result.stopped) return;
  // The clock of the rank that saves may be behind the one that ended the run: resuming must find it over.
  const std::chrono::duration<double> limit(*stop_.seconds);
  run.start =
      std::min(run.start, Progress::Clock::now() - std::chrono::ceil<Progress::Clock::duration>(limit));
  end(run, time_text());
}

void EarlyStopping::between_steps(Progress& run) {
  if (!run.evaluation || run.result.stopped) return;
  see(*run.evaluation);
  if (std::string reason = reason_after(*run.evaluation); !reason.empty()) end(run, std::move(reason));
}

void EarlyStopping::end(Progress& run, std::string reason) {
  if (run.step >= run.total_steps) return;
  run.total_steps = run.step;
  run.result.reason = reason_ = std::move(reason);
}

void EarlyStopping::see(const Scores& scores) {
  const double least = settings_ ? settings_->min_delta : 0;
  for (std::size_t i = 0; i < watched_.size(); ++i) {
    Watched& watched = watched_[i];
    const double now = i == 0 ? scores.loss : scores.metrics[i - 1];
    const bool is_better =
        watched.is_empty || (std::isnan(watched.best) && !std::isnan(now)) ||
        (watched.higher_is_better ? now > watched.best + least : now < watched.best - least);
    watched.waited = is_better ? 0 : watched.waited + 1;
    if (is_better) watched.best = now;
    watched.is_empty = false;
  }
}

bool EarlyStopping::has_waited(const Watched& watched) const { return watched.waited >= settings_->patience; }

std::string EarlyStopping::text_of(const Watched& watched) const {
  return fmt::format("{} of {} has not {} in {}", watched.name, split_,
                     watched.higher_is_better ? "risen" : "fallen", counted(watched.waited, "evaluation"));
}

std::string EarlyStopping::reason_after(const Scores& scores) const {
  if (stop_.loss && scores.loss <= *stop_.loss)
    return fmt::format("loss of {} is {:.4g}, at most {:g}", split_, scores.loss, *stop_.loss);
  if (!settings_) return "";
  const auto waited = [this](const Watched& watched) { return has_waited(watched); };
  if (settings_->mode == EarlyStoppingSettings::Mode::all)
    return std::ranges::all_of(watched_, waited)
               ? fmt::format("neither the loss nor a metric of {} has improved in {} evaluations", split_,
                             settings_->patience)
               : "";
  const auto found = settings_->mode == EarlyStoppingSettings::Mode::any
                         ? std::ranges::find_if(watched_, waited)
                         : watched_.begin() + static_cast<std::ptrdiff_t>(first_);
  return found != watched_.end() && has_waited(*found) ? text_of(*found) : "";
}

void check_early_stopping(const Config& train, const TrainSettings& settings,
                          const std::vector<MetricFacts>& metrics, bool evaluates) {
  const char* const help = "`data: {validation: 0.1}` and train.evaluate: epoch";
  if (settings.stop.loss && !evaluates)
    train.at("stop").fail("loss", "stop.loss is compared with the loss of evaluations, and the run has none",
                          help);
  if (!settings.early_stopping) return;
  const Config config = train.at("early_stopping");
  if (!evaluates) config.fail("", "early stopping follows evaluations, and the run has none", help);
  const std::string& metric = settings.early_stopping->metric;
  std::string names = "loss";
  for (const MetricFacts& facts : metrics) names += ", " + facts.name;
  if (!metric.empty() && metric != "loss" &&
      std::ranges::find(metrics, metric, &MetricFacts::name) == metrics.end())
    config.fail("metric", "the run has no metric `" + metric + "`", "one of: " + names);
}

Setting early_stopping_key() {
  return section(
             "early_stopping", "ends the run when evaluations stop improving",
             {integer("patience", "evaluations without improvement after which the run ends")
                  .at_least(1)
                  .at_most(kMaxEpochs)
                  .fallback("5"),
              real("min_delta", "smallest change that counts as an improvement").at_least(0).fallback("0"),
              text("metric",
                   "what is followed: `loss`, or one of train.metrics; by default what selects the "
                   "best checkpoint")
                  .optional(),
              choice("mode",
                     "first: follow `metric`; any: end when the loss or any metric stops improving; all: "
                     "when none of them improves",
                     {"first", "any", "all"})
                  .fallback("first")})
      .optional()
      .changeable();
}

Setting stop_key() {
  return section(
             "stop", "ends the run at a goal or a limit, as after its last step",
             {real("loss", "end after an evaluation with this loss or a lower one").optional(),
              text(
                  "time",
                  "end after this time of training, as 90s, 30m, 1.5h or 2d; the step under way is completed")
                  .optional()})
      .optional()
      .changeable();
}

}  // namespace trainer
