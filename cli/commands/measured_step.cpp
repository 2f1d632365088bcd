#include "cli/commands/measured_step.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "cli/commands/open_run.h"
#include "models/planning/deviation.h"
#include "models/runs/training_run.h"

namespace trainer {
namespace {

using Seconds = std::chrono::duration<double>;

/// Collects the times of full steps after the warm-up, which is the first pass over the samples.
class StepTimer final : public Observer {
 public:
  void on_start(const RunFacts&) override { begin_ = Clock::now(); }
  void on_step(const StepReport& report) override {
    const bool warms_up = report.epoch == 1 && elapsed() < kLongestWarmUp;
    if (warms_up) return;
    if (steps_.empty()) begin_ = Clock::now();
    steps_.push_back({report.times, report.scores.samples});
  }
  /// True after some seconds, after many short steps, or after two steps of a slow model.
  bool is_done() const {
    constexpr std::size_t kFew = 2, kSome = 8, kMany = 400;
    constexpr double kShort = 3, kLong = 20;
    return steps_.size() >= kMany || (steps_.size() >= kSome && elapsed() > kShort) ||
           (steps_.size() >= kFew && elapsed() > kLong);
  }

  MeasuredStep result(double forward_share, double micro_batches) const {
    std::int64_t full = 0;
    for (const Step& step : steps_) full = std::max(full, step.samples);
    std::vector<double> seconds;
    StepTimes sum;
    for (const Step& step : steps_)
      if (step.samples == full) {
        seconds.push_back(Seconds(step.times.training).count());
        sum += step.times;
      }
    std::vector<double> totals = with_pauses(seconds);
    std::ranges::sort(totals);
    const std::size_t count = totals.size();
    const double median = totals[count / 2];
    // The parts are means; scaled, they add up to the median step.
    const double scale = median / Seconds(sum.training).count();
    const auto part = [&](std::chrono::nanoseconds time) { return scale * Seconds(time).count(); };
    const double work = part(sum.training - sum.data - sum.communication() - sum.update) / micro_batches;
    return {.times = {.data = part(sum.data) / micro_batches,
                      .forward = forward_share * work,
                      .backward = (1 - forward_share) * work,
                      .sums = part(sum.communication()) / micro_batches,
                      .update = part(sum.update),
                      .deviation = deviation(seconds) / median},
            .low = totals[count / 4] / median,
            .high = totals[count - 1 - count / 4] / median,
            .steps = static_cast<int>(seconds.size())};
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr double kLongestWarmUp = 10;  // seconds
  struct Step {
    StepTimes times;
    std::int64_t samples = 0;
  };

  double elapsed() const { return Seconds(Clock::now() - begin_).count(); }

  Clock::time_point begin_ = Clock::now();
  std::vector<Step> steps_;
};

/// Encodes the gradients of the second step, to measure how much shorter they get.
class GradientCode final : public Hook {
 public:
  explicit GradientCode(ParameterWindows& windows) : windows_(windows) {}

  void before_update(std::int64_t step, const Signals&) override {
    constexpr std::int64_t kSecond = 1;
    if (step != kSecond) return;
    const FlatValues<float> sums = windows_.sums();
    std::vector<std::byte> code;
    std::size_t floats = 0;
    std::int64_t bytes = 0;
    for (const Range& range : windows_.shard()) {
      const std::span<const float> gradients = sums.subspan(range.first, range.count());
      code.resize(static_cast<std::size_t>(most_code_bytes(range.count()) + kFloatCodeSlack));
      floats += gradients.size();
      bytes += encode_floats(gradients, code);
    }
    ratio_ = std::min(1.0, static_cast<double>(bytes) / static_cast<double>(sizeof(float) * floats));
  }
  /// Bytes of the code over those of the gradients.
  double ratio() const { return ratio_; }

 private:
  ParameterWindows& windows_;
  double ratio_ = kUniformCodeRatio;
};

/// The overrides of a run that repeats few samples and neither evaluates nor saves.
std::vector<std::string> overrides_for(const std::vector<std::string>& overrides,
                                       const PlannedRun::Measured& how, const OpenRun& run) {
  const Session& session = *run.session;
  const TrainSettings& settings = session.settings();
  std::vector<std::string> all = overrides;
  const auto set = [&](const char* key, const auto& value) {
    all.push_back(fmt::format("{}={}", key, value));
  };
  const Config data = run.config.root().at("data");
  const double validation = data.get<double>("validation"),
               available = static_cast<double>(session.data().train->size()) / (1 - validation),
               needed = 4.5 * static_cast<double>(how.rows);
  if (needed < available) set("data.fraction", data.get<double>("fraction") * needed / available);
  set("data.validation", 0);
  set("train.batch", how.rows);
  if (settings.exact)
    set("train.virtual_workers",
        std::max<std::int64_t>(how.workers, settings.virtual_workers * how.rows / settings.batch));
  set("train.steps", 1'000'000);
  for (const char* nothing : {"train.schedule=constant", "train.evaluate=never", "train.checkpoint=never",
                              "train.early_stopping=~", "train.stop=~", "train.on_divergence=stop"})
    all.emplace_back(nothing);
  return all;
}

double forward_share(const Network& network) {
  double forward = 0, both = 0;
  for (const LayerCost& layer : layer_costs(network)) {
    forward += static_cast<double>(layer.forward);
    both += static_cast<double>(layer.forward + layer.backward);
  }
  constexpr double kUsual = 1.0 / 3;
  return both > 0 ? forward / both : kUsual;
}

}  // namespace

std::vector<double> with_pauses(std::span<const double> seconds) {
  constexpr double kTogether = 0.1;  // the usual period of a processor's quota
  std::vector<double> means;
  double sum = 0;
  int steps = 0;
  for (const double step : seconds) {
    sum += step;
    ++steps;
    if (sum < kTogether) continue;
    means.push_back(sum / steps);
    sum = 0, steps = 0;
  }
  if (means.empty() && steps > 0) means.push_back(sum / steps);
  return means;
}

MeasuredStep measure_step(const ConfigSource& config, const PlannedRun::Measured& how, int cores) {
  const auto world = solo();
  Mesh mesh(*world, {});
  const bool oversubscribed = how.threads > cores;
  ThreadPool pool(how.threads, oversubscribed, {}, how.workers);
  const OpenRun headers = open_run(config, mesh, pool);
  ConfigSource short_run = config;
  short_run.overrides = overrides_for(config.overrides, how, headers);
  OpenRun run = open_run(short_run, mesh, pool);
  StepTimer timer;
  TrainingRun training(
      run.config.root(), *run.session,
      {.reducer = {.oversubscribed = oversubscribed}, .asked_to_stop = [&] { return timer.is_done(); }});
  load_samples(*run.session);
  GradientCode code(training.parts().windows);
  const RunResult result = training.run({&timer}, "", &code);
  const Network& network = run.session->network();
  MeasuredStep step =
      timer.result(forward_share(network), static_cast<double>(run.session->settings().accumulate));
  const bool has_feedback = run.session->settings().compression.has_feedback();
  const MemoryPlan plan =
      memory_plan(network, placed_parameters(network, mesh, has_feedback), memory_needs(run));
  step.times.gradient_code_ratio = code.ratio();
  step.program = std::max<std::int64_t>(0, result.memory - plan.of_host());
  return step;
}

}  // namespace trainer
