#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <memory>

#include "cli/commands/best_mesh.h"
#include "cli/commands/commands.h"
#include "cli/commands/measured_step.h"
#include "cli/commands/planned_run.h"
#include "cli/reports/forecast_chart.h"
#include "cli/reports/forecast_table.h"
#include "cli/reports/header.h"
#include "cli/reports/plan_text.h"
#include "cli/terminal/text.h"
#include "engine/system/cores.h"
#include "engine/system/files.h"

namespace trainer {
namespace {

/// How much faster or slower than stated a link may be, for error bars.
constexpr double kLinkError = 0.1;

/// Makes the rows of a forecast; measures each share of a batch once.
class Forecast {
 public:
  Forecast(const Job& job, const CpuAffinity& alone)
      : arguments_(job.arguments),
        alone_(alone),
        cores_(granted_cores(alone.placement.cores)),
        link_(arguments_.link.value_or(LinkCost{})),
        per_host_(arguments_.ranks_per_node > 0 ? arguments_.ranks_per_node : 1) {
    const auto one = plan(1, {});
    batch_ = one->session().settings().batch;
    data_ = data_text(one->session().data());
    one_ = compute(*one);
    one_batch_ = batch_;
    if (!arguments_.datapar) is_sharded_ = plan(2, {.data = 1, .model = 2})->is_sharded();
  }

  ForecastRow row(int ranks) {
    ForecastRow row{.ranks = ranks};
    std::unique_ptr<PlannedRun> best;
    Predicted prediction;
    for (const MeshShape& mesh : meshes(ranks)) try {
        auto candidate = plan(ranks, mesh);
        const Predicted predicted = compute(*candidate);
        if (best && predicted.middle() >= prediction.middle()) continue;
        best = std::move(candidate);
        prediction = predicted;
      } catch (const Error& error) {
        if (error.code() != ExitCode::ranks) throw;
        if (row.impossible.empty()) row.impossible = error.diagnostics().front().what;
      }
    if (best) fill(row, *best, prediction);
    return row;
  }

  std::string method() const {
    std::string text = fmt::format(
        "This is a forecast, not a measurement. Link of a host: {}; {} of {} on each host.\n",
        link_text(link_), counted(per_host_, "rank"), counted(planned_threads(alone_, per_host_), "thread"));
    if (arguments_.rate > 0)
      text += fmt::format("Computing: {:g} GFLOP/s a thread (--rate). ", arguments_.rate);
    else
      text += fmt::format(
          "Computing: measured here, {}; hosts wait for the slowest of them as these steps deviate. ",
          counted(steps_, "step"));
    return in_lines(text + fmt::format("From, to: {}a link {:.0f} % slower or faster.\n",
                                       arguments_.rate > 0 ? "" : "the quartiles of measured steps, and ",
                                       100 * kLinkError));
  }
  const std::string& data() const { return data_; }

 private:
  /// Seconds of a step: as computing and the link are, then with each combination of slow and fast ones.
  struct Predicted {
    std::array<double, 5> steps{};
    double waiting = 0;  ///< share of the first

    double middle() const { return steps.front(); }
  };

  std::int64_t batch_of(int ranks) const { return arguments_.weak ? batch_ * ranks : batch_; }

  std::unique_ptr<PlannedRun> plan(int ranks, const MeshShape& mesh) const {
    std::vector<std::string> overrides = arguments_.overrides;
    if (arguments_.weak && ranks > 1) overrides.push_back(fmt::format("train.batch={}", batch_of(ranks)));
    const int per_host = std::min(per_host_, ranks), threads = planned_threads(alone_, per_host_);
    return std::make_unique<PlannedRun>(
        config_source(arguments_.files, std::move(overrides)),
        PlannedRun::Options{.mesh = {.data = mesh.data, .model = mesh.model, .ranks_per_node = per_host},
                            .threads = threads,
                            .workers = workers_of(arguments_.workers, threads)});
  }

  std::vector<MeshShape> meshes(int ranks) const {
    if (arguments_.modelpar) return {{.data = 1, .model = ranks}};
    if (!is_sharded_) return {{.data = ranks}};
    return candidate_meshes(ranks);
  }

  /// Where the mesh is chosen, a group of model ranks computes as fast a row as one of its ranks with its
  /// share of the rows: only the meshes without model ranks are measured.
  MeasuredStep measured(const PlannedRun& run) {
    PlannedRun::Measured how = run.measured_on(cores_);
    const int group = arguments_.modelpar ? 1 : run.ranks().mesh().model().size();
    const std::int64_t micro_batches = run.step().micro_batches;
    how.rows = std::max<std::int64_t>(how.workers, how.rows / group / micro_batches) * micro_batches;
    const auto [place, is_new] = measured_.try_emplace({how.threads, how.rows});
    if (is_new) {
      place->second = measure_step(run.config(), how, cores_);
      steps_ += place->second.steps;
    }
    MeasuredStep step = place->second;
    for (double* const part : {&step.times.data, &step.times.forward, &step.times.backward}) *part *= group;
    return step;
  }

  Predicted compute(const PlannedRun& run) {
    ComputingTimes times;
    std::array<double, 2> spread{1, 1};
    if (arguments_.rate > 0) {
      times = run.computing_at(arguments_.rate * 1e9);
    } else {
      const MeasuredStep step = measured(run);
      times = run.computing(step.times, cores_);
      spread = {step.low, step.high};
    }
    Predicted result;
    const StepTime time = step_time(run, times, 1, 1);
    result.waiting = time.waiting() / time.total();
    std::size_t next = 0;
    result.steps[next++] = time.total();
    for (const double factor : spread)
      for (const double link : {1 - kLinkError, 1 + kLinkError})
        result.steps[next++] = step_time(run, times, factor, link).total();
    return result;
  }

  StepTime step_time(const PlannedRun& run, ComputingTimes times, double factor, double bandwidth) const {
    for (double* const part : {&times.data, &times.forward, &times.backward, &times.sums, &times.update})
      *part *= factor;
    LinkCost link = link_;
    link.bandwidth *= bandwidth;
    return predict_step(work_of(run.step(), times, link), cost_of_shard(run.step(), link));
  }

  void fill(ForecastRow& row, const PlannedRun& run, const Predicted& step) const {
    row.impossible.clear();
    row.hosts = run.ranks().nodes();
    row.data_ranks = run.ranks().mesh().data().size();
    row.model_ranks = run.ranks().mesh().model().size();
    row.batch = batch_of(row.ranks);
    row.waiting = step.waiting;
    row.step = estimate(step.steps);
    const auto batch = static_cast<double>(row.batch);
    row.throughput = {batch / row.step.value, batch / row.step.high, batch / row.step.low};
    // Slow computing is slow on one rank, too.
    std::array<double, 5> efficiencies{};
    for (std::size_t i = 0; i < efficiencies.size(); ++i)
      efficiencies[i] = batch / step.steps[i] / (static_cast<double>(one_batch_) / one_.steps[i]) / row.ranks;
    row.efficiency = estimate(efficiencies);
  }

  static Estimate estimate(const std::array<double, 5>& values) {
    return {values.front(), std::ranges::min(values), std::ranges::max(values)};
  }

  const Arguments& arguments_;
  const CpuAffinity& alone_;
  int cores_;
  LinkCost link_;
  int per_host_;
  std::map<std::pair<int, std::int64_t>, MeasuredStep> measured_;  ///< by threads and rows
  int steps_ = 0;
  std::int64_t batch_ = 0, one_batch_ = 0;
  std::string data_;
  Predicted one_;  ///< on one rank
  bool is_sharded_ = false;
};

}  // namespace

void forecast_command(const Job& job) {
  require_one_process(job);
  const Arguments& arguments = job.arguments;
  const CpuAffinity alone = set_cpu_affinity(job.world, arguments.threads);
  Forecast forecast(job, alone);
  std::vector<ForecastRow> rows;
  for (const int ranks : arguments.planned_ranks) rows.push_back(forecast.row(ranks));
  const std::string scaling = arguments.weak ? "weak scaling: train.batch samples on each rank"
                                             : "strong scaling: train.batch samples on all ranks together";
  if (arguments.csv)
    job.print_as_it_is(forecast_csv(rows, arguments.weak));
  else
    job.print(in_lines("forecast  " + scaling + "\ndata      " + forecast.data(), 10) + "\n\n" +
              forecast_table(rows) + "\n" + forecast.method());
  if (arguments.svg.empty()) return;
  const std::string name = std::filesystem::path(arguments.files.front()).stem().string();
  const std::string svg =
      forecast_svg(rows, "Forecast of " + name + (arguments.weak ? ", weak scaling" : ", strong scaling"));
  if (svg.empty()) throw Error(ExitCode::ranks, "no number of ranks is possible: " + rows.front().impossible);
  write_file(arguments.svg, svg);
}

}  // namespace trainer
