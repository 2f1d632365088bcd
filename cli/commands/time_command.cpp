#include <fmt/format.h>

#include <chrono>
#include <utility>

#include "cli/commands/commands.h"
#include "cli/commands/engine_times.h"
#include "cli/commands/mesh_and_threads.h"
#include "cli/commands/micro_batches.h"
#include "cli/commands/open_run.h"
#include "cli/commands/preflight_check.h"
#include "cli/commands/step_trace.h"
#include "cli/commands/timed_layer.h"
#include "cli/launching/collective_errors.h"
#include "cli/reports/header.h"
#include "cli/terminal/text.h"
#include "engine/system/cores.h"
#include "engine/system/files.h"
#include "models/planning/layer_costs.h"
#include "models/runs/training_run.h"
#include "models/training/sharding_check.h"

namespace trainer {
namespace {

using Nanoseconds = std::chrono::nanoseconds;

/// The time of one worker of this rank in a layer.
struct LayerTime {
  Nanoseconds forward{}, backward{};
  double operations = 0;  ///< floating-point ones of both

  /// `part`: this rank's share of the layer's operations.
  void add(const TimedLayer::Work& work, double part) {
    (work.forward ? forward : backward) += work.end - work.begin;
    operations += part * static_cast<double>(work.flops);
  }
};

/// Adds up the times of the steps after the warm-up.
class Stopwatch final : public Observer {
 public:
  /// Of this worker; `trace` may be null.
  Stopwatch(Network& network, int worker, std::int64_t steps, StepTrace* trace) : steps_(steps) {
    std::vector<Sequence::Entry>& entries = network.layers().entries();
    layers_.resize(entries.size());
    for (std::size_t i = 0; i < entries.size(); ++i) {
      if (entries[i].traits.view) continue;
      const double part = share_of_operations(entries[i], network.plan());
      entries[i].layer =
          std::make_unique<TimedLayer>(std::move(entries[i].layer), [=, this](const TimedLayer::Work& work) {
            if (work.worker == worker) layers_[i].add(work, part);
            if (trace) trace->add(i, work);
          });
    }
  }

  void on_step(const StepReport& report) override {
    if (report.step > steps_) {
      times_ += report.times;
      samples_ += report.scores.samples;
    } else if (report.step == steps_) {
      std::ranges::fill(layers_, LayerTime{});
    }
  }

  std::string text(const Network& network) const;

 private:
  /// Milliseconds of a step.
  std::string cell(Nanoseconds sum) const {
    return fmt::format("{:.3f}", static_cast<double>(sum.count()) / static_cast<double>(steps_) * 1e-6);
  }
  std::string share(Nanoseconds sum) const { return fmt::format("{:.1f}%", 100 * times_.share(sum)); }

  std::int64_t steps_;
  std::vector<LayerTime> layers_;
  StepTimes times_;
  std::int64_t samples_ = 0;
};

std::string rate_text(double operations, Nanoseconds time) {
  return operations > 0 && time.count() > 0
             ? fmt::format("{:.1f}", operations / static_cast<double>(time.count()))
             : "";
}

std::string Stopwatch::text(const Network& network) const {
  std::vector<std::vector<std::string>> rows{
      {"layer", "type", "output", "forward", "backward", "update", "GFLOP/s", "share"}};
  const Nanoseconds between_layers = times_.communication() - times_.inside_layers();
  Nanoseconds rest = times_.training - times_.data - between_layers - times_.update;
  double operations = 0;
  const std::vector<Sequence::Entry>& entries = network.layers().entries();
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const LayerTime& time = layers_[i];
    if (entries[i].traits.view) continue;
    // One update serves all parameters; a layer's share of its time is its share of the parameters.
    const auto parameters = static_cast<double>(entries[i].parameter_end - entries[i].first_parameter);
    const Nanoseconds update(
        static_cast<std::int64_t>(parameters > 0 ? static_cast<double>(times_.update.count()) * parameters /
                                                       static_cast<double>(network.plan().parameter_end())
                                                 : 0));
    const Nanoseconds both = time.forward + time.backward;
    rows.push_back({entries[i].name, entries[i].type, channels_first_text(entries[i].output),
                    cell(time.forward), cell(time.backward), parameters > 0 ? cell(update) : "",
                    rate_text(time.operations, both), share(both + update)});
    rest -= both;
    operations += time.operations;
  }
  const auto add = [&](const std::string& what, const std::string& type, Nanoseconds time) {
    rows.push_back({what, type, "", cell(time), "", "", "", share(time)});
  };
  add("data", "", times_.data);
  add("loss, rest", "", rest);
  add("gradients", "messages", times_.reduce - times_.statistics);
  add("consensus", "messages", times_.consensus);
  add("parameters", "messages", times_.publish - times_.arrivals);
  rows.push_back({"step", "", "", cell(times_.training), "", "", rate_text(operations, times_.training), ""});
  return table(rows, 2) +
         in_lines(
             fmt::format("\nms of a step, the mean of {}, on the last thread of rank 0; {} examples/s\n",
                         counted(steps_, "step"),
                         grouped(static_cast<std::int64_t>(static_cast<double>(samples_) * 1e9 /
                                                           static_cast<double>(times_.training.count())))));
}

/// Those for a run that takes the same samples twice: the first pass reads them (unpacks, draws), the second
/// one is timed.
void add_timing_overrides(const Arguments& arguments, const OpenRun& run,
                          std::vector<std::string>& overrides) {
  const Session& session = *run.session;
  const double needed = static_cast<double>(arguments.steps) * static_cast<double>(session.settings().batch),
               fraction = run.config.root().at("data").get<double>("fraction"),
               size = static_cast<double>(session.data().train->size()) /
                      (1 - run.config.root().at("data").get<double>("validation"));
  if (needed < size) overrides.push_back(fmt::format("data.fraction={}", fraction * needed / size));
  overrides.emplace_back("data.validation=0");
  overrides.push_back(fmt::format("train.steps={}", 2 * arguments.steps));
  for (const char* nothing : {"train.schedule=constant", "train.evaluate=never", "train.checkpoint=never",
                              "train.early_stopping=~", "train.stop=~", "train.on_divergence=stop"})
    overrides.push_back(nothing);
}

}  // namespace

void time_command(const Job& job) {
  const Arguments& arguments = job.arguments;
  ConfigSource config = config_source(arguments.files, arguments.overrides);
  MeshAndThreads work(job, config);
  std::optional<EngineTimes> engines;
  run_collectively(job.world, [&] {
    if (!arguments.engines.empty()) engines.emplace(arguments.steps);
  });
  std::optional<OpenRun> run(open_fitted_run(config, work.mesh, work.pool));
  const std::string data = data_text(run->session->data());
  run_collectively(job.world, [&] {
    if (const std::string_view apart = run->session->settings().steps_apart(); !apart.empty())
      run->config.root().at("train").fail(
          apart, "`trainer time` measures the layers of steps that all ranks take together",
          fmt::format("a copy of the configuration without train.{}", apart));
    check_sharding(run->config.root().at("train"), run->session->settings(), arguments.sharding,
                   work.mesh.model().size());
    add_timing_overrides(arguments, *run, config.overrides);
    run.emplace(open_run(config, work.mesh, work.pool));
  });
  preflight_check(job.world, run_facts(*run));
  Session& session = *run->session;
  TrainingRun training(run->config.root(), session,
                       {.reducer = {.oversubscribed = work.affinity.placement.oversubscribed,
                                    .sharding = arguments.sharding}});
  load_samples(session);
  const std::string head = in_lines(ranks_text(session, work.affinity) + "\ndata  " + data, 6) + "\n\n";
  if (engines) {
    training.run({&*engines}, "");
    job.print(head + engines->text() +
              fmt::format("\nus of a call, the shortest of {} or more with each engine, on rank 0\n",
                          counted(arguments.steps / 2, "step")));
    run_collectively(job.world, [&] {
      if (job.world.rank() == 0) write_file(arguments.engines, engines->table().text(cpu_name()));
    });
    job.print(fmt::format("written to {}\n", arguments.engines));
    return;
  }
  std::optional<StepTrace> trace;
  if (!arguments.trace.empty()) trace.emplace(training.parts(), arguments.steps, 2 * arguments.steps);
  Stopwatch stopwatch(session.network(), session.pool().size() - 1, arguments.steps,
                      trace ? &*trace : nullptr);
  training.run({&stopwatch}, "", trace ? &*trace : nullptr);
  job.print(head + stopwatch.text(session.network()));
  if (trace) {
    const std::string events = trace->json();
    run_collectively(job.world, [&] {
      if (job.world.rank() == 0) write_file(arguments.trace, events);
    });
  }
}

}  // namespace trainer
