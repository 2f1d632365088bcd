#include <fmt/format.h>

#include <cmath>
#include <filesystem>

#include "cli/commands/commands.h"
#include "cli/commands/mesh_and_threads.h"
#include "cli/commands/micro_batches.h"
#include "cli/commands/open_run.h"
#include "cli/commands/preflight_check.h"
#include "cli/launching/collective_errors.h"
#include "cli/reports/header.h"
#include "cli/reports/rate_chart.h"
#include "cli/search/range_test.h"
#include "cli/terminal/shell_line.h"
#include "cli/terminal/text.h"
#include "engine/parallel/wait_for_all.h"
#include "engine/system/files.h"
#include "models/runs/training_run.h"
#include "models/training/sharding_check.h"

namespace trainer {
namespace {

std::string rate_key(const Config& root) {
  return fmt::format("train.optimizer.{}.lr", root.at("train").at("optimizer").type());
}

/// The command line's overrides, and those that make a range test of a run. Exact mode: the suggestion is the
/// same on any number of ranks and threads.
std::vector<std::string> test_overrides(const Arguments& arguments, const std::string& rate) {
  const RangeArguments& range = arguments.range;
  const double factor =
      std::pow(range.to / range.from, 1 / static_cast<double>(std::max<std::int64_t>(range.steps - 1, 1)));
  std::vector<std::string> overrides = arguments.overrides;
  overrides.push_back(fmt::format("{}={}", rate, range.from));
  overrides.push_back(fmt::format("train.steps={}", range.steps));
  overrides.push_back(
      fmt::format("train.schedule={{exponential: {{factor: {}, every: {{steps: 1}}}}}}", factor));
  for (const char* plain :
       {"train.warmup=~", "train.lr_scaling=~", "train.early_stopping=~", "train.stop=~",
        "train.evaluate=never", "train.checkpoint=never", "train.guards=never", "train.on_divergence=stop",
        "train.skip_outliers=~", "train.compression=~", "train.exact=true"})
    overrides.emplace_back(plain);
  return overrides;
}

/// Collects the losses, and asks the run to stop once they diverge; on world rank 0.
class Collector final : public Observer {
 public:
  explicit Collector(std::int64_t steps) : steps_(steps) {}
  void on_step(const StepReport& report) override {
    if (!has_diverged_) test_.add(report.rate, report.scores.loss);
    has_diverged_ = has_diverged_ || test_.has_diverged(steps_);
  }
  bool has_diverged() const { return has_diverged_; }
  const RangeTest& test() const { return test_; }

 private:
  std::int64_t steps_;
  RangeTest test_;
  bool has_diverged_ = false;
};

std::string end_text(const Collector& collector, bool is_finite, std::int64_t steps) {
  const auto done = std::ssize(collector.test().points());
  if (!is_finite) return fmt::format("stopped after step {} of {}: a value is not finite\n", done, steps);
  if (collector.has_diverged())
    return fmt::format("stopped after step {} of {}: the loss is 4 times the lowest one\n", done, steps);
  return "";
}

std::string suggestion(const Arguments& arguments, const RangeTest& test, const std::string& key) {
  const auto steepest = test.steepest(), lowest = test.lowest();
  if (!steepest)
    return fmt::format(
        "no rate is suggested: the loss does not fall\nhelp: more --steps, or another range than "
        "--from {:g} --to {:g}\n",
        arguments.range.from, arguments.range.to);
  std::vector<std::string> words{"trainer"};
  words.insert(words.end(), arguments.files.begin(), arguments.files.end());
  for (const std::string& setting : arguments.overrides) words.insert(words.end(), {"-s", setting});
  words.insert(words.end(), {"-s", fmt::format("{}={:.2g}", key, *steepest)});
  return fmt::format(
      "suggested     lr {:.2g}, where the loss falls fastest; it is lowest at {:.2g}\n              {}\n",
      *steepest, *lowest, shell_line(words));
}

void write_chart(const std::string& path, const RangeTest& test, const std::string& title) {
  RateCurve curve{.marked = test.steepest().value_or(0)};
  for (const RangeTest::Point& point : test.points()) {
    curve.rates.push_back(point.rate);
    curve.losses.push_back(point.loss);
    curve.smoothed.push_back(point.smoothed);
  }
  write_file(path, svg_of(curve, title));
}

}  // namespace

void lr_find_command(const Job& job) {
  const Arguments& arguments = job.arguments;
  const std::string& file = arguments.files.front();
  MeshAndThreads work(job);
  std::string key;
  run_collectively(job.world, [&] {
    const ConfigTree config(config_source(arguments.files, arguments.overrides), run_settings());
    for (const char* apart : {"local", "async"})
      if (config.root().at("train").has(apart))
        config.root().at("train").fail(apart,
                                       "a range test raises the rate in steps that all ranks take together",
                                       fmt::format("a copy of the configuration without train.{}", apart));
    key = rate_key(config.root());
  });
  ConfigSource source = config_source(arguments.files, test_overrides(arguments, key));
  const OpenRun run = open_fitted_run(source, work.mesh, work.pool);
  run_collectively(job.world, [&] {
    check_sharding(run.config.root().at("train"), run.session->settings(), arguments.sharding,
                   work.mesh.model().size());
  });
  preflight_check(job.world, run_facts(run));
  Session& session = *run.session;
  Collector collector(arguments.range.steps);
  TrainingRun training(
      run.config.root(), session,
      {.reducer = {.oversubscribed = work.affinity.placement.oversubscribed, .sharding = arguments.sharding},
       .asked_to_stop = [&] { return collector.has_diverged(); }});
  load_samples(session);
  job.print(fmt::format("lr-find       {}: {}, batch {}, lr {:g} to {:g}\ndata          {}\n", file,
                        counted(arguments.range.steps, "step"), session.settings().batch,
                        arguments.range.from, arguments.range.to, data_text(session.data())));
  bool is_finite = true;
  try {
    training.run(job.world.rank() == 0 ? std::vector<Observer*>{&collector} : std::vector<Observer*>{}, "");
  } catch (const Error& error) {
    if (error.code() != ExitCode::diverged) throw;
    is_finite = false;
  }
  const std::string name = std::filesystem::path(file).stem().string();
  const std::string path = arguments.svg.empty() ? name + "-lr.svg" : arguments.svg;
  const RangeTest& test = collector.test();
  const bool writes = job.world.rank() == 0 && test.points().size() > 1;
  if (job.world.rank() == 0)
    job.print("\n" + range_table(test) + "\n" + end_text(collector, is_finite, arguments.range.steps) +
              suggestion(arguments, test, key));
  run_collectively(job.world, [&] {
    with_disk(job.world, "the writing of the curve", writes,
              [&] { write_chart(path, test, "Learning rates of " + name); });
  });
  if (writes) job.print("curve         " + shell_line({path}) + "\n");
}

}  // namespace trainer
