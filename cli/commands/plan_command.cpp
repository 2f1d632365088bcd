#include <fmt/format.h>

#include "cli/commands/commands.h"
#include "cli/commands/measured_step.h"
#include "cli/commands/planned_run.h"
#include "cli/reports/header.h"
#include "cli/reports/plan_json.h"
#include "cli/reports/plan_text.h"
#include "cli/terminal/text.h"
#include "engine/system/cores.h"
#include "engine/system/memory_use.h"

namespace trainer {
namespace {

std::string heading(const PlannedRun& run) {
  const PlannedRanks& ranks = run.ranks();
  const Mesh& mesh = ranks.mesh();
  const TrainSettings& settings = run.session().settings();
  const Sharding sharding = run.options().sharding;
  return in_lines(
      fmt::format("plan   {} ({} data x {} model) on {}, {} each{}\nbatch  {}, at most {} rows a rank\n",
                  counted(mesh.world().size(), "rank"), mesh.data().size(), mesh.model().size(),
                  counted(ranks.nodes(), "host"), threads_text(run.options().threads, run.options().workers),
                  sharding == Sharding::state ? "" : std::string(", --shard ") + name_of(sharding),
                  grouped(settings.batch), grouped(run.step().rows * run.step().micro_batches)) +
          "data   " + data_text(run.session().data()) + "\n",
      7);
}

std::string source_text(const MeasuredStep& measured, const PlannedRun::Measured& how) {
  return fmt::format(
      "computing is measured here: {} rows on {} of one process, median of {}, "
      "the middle half from {:.0f} to {:.0f} %, standard deviation of a step {:.1f} %\n",
      grouped(how.rows), threads_text(how.threads, how.workers), counted(measured.steps, "step"),
      100 * measured.low, 100 * measured.high, 100 * measured.times.deviation);
}

std::string step_text(const PlannedRun& run, const ComputingTimes& computing, const LinkCost& cost) {
  const StepWork work = work_of(run.step(), computing, cost);
  const StepTime time = predict_step(work, cost_of_shard(run.step(), cost));
  std::vector<std::vector<std::string>> rows{{"predicted step", milliseconds_text(time.total())},
                                             {"computing", milliseconds_text(time.computing)}};
  const auto add = [&](const char* what, double seconds) {
    if (seconds > 0) rows.push_back({what, milliseconds_text(seconds)});
  };
  add("waiting inside layers", time.layers);
  add("sending messages", time.sending);
  add("adding gradients of other hosts", time.adding);
  add("waiting for gradients", time.reduce);
  add("consensus", time.consensus);
  add("waiting for parameters", time.publish);
  add("handling messages", time.handling);
  add("waiting for the slowest host", time.slowest);
  std::string text = table(rows, 1);
  if (time.wire > 0)
    text +=
        fmt::format("the link of a host is busy for {} of gradients and parameters, {:.0f} % of it hidden\n",
                    milliseconds_text(time.wire), 100 * time.hidden());
  const auto batch = static_cast<double>(run.session().settings().batch);
  return text + fmt::format("{} examples/s\n", grouped(static_cast<std::int64_t>(batch / time.total())));
}

}  // namespace

void plan_command(const Job& job) {
  require_one_process(job);
  std::int64_t program = proportional_memory();
  const Arguments& arguments = job.arguments;
  const int ranks = arguments.planned_ranks.front();
  const MeshShape shape = mesh_of(arguments, ranks);
  const bool is_sharded = arguments.sharding != Sharding::state;
  if (is_sharded && arguments.ranks_per_node > 1)
    throw Error(
        ExitCode::usage, "--shard with --ranks-per-node: sharded gradients are planned on hosts of one rank",
        "trainer plan ... --shard " + std::string(name_of(arguments.sharding)) + " without --ranks-per-node");
  const int per_host = arguments.ranks_per_node > 0   ? arguments.ranks_per_node
                       : arguments.link || is_sharded ? 1
                                                      : ranks;
  const CpuAffinity alone = set_cpu_affinity(job.world, arguments.threads);
  const int cores = granted_cores(alone.placement.cores);
  const ConfigSource config = config_source(arguments.files, arguments.overrides);
  const int threads = planned_threads(alone, std::min(ranks, per_host));
  const PlannedRun run(config,
                       {.mesh = {.data = shape.data, .model = shape.model, .ranks_per_node = per_host},
                        .threads = threads,
                        .workers = workers_of(arguments.workers, threads),
                        .sharding = arguments.sharding});
  const LinkCost cost = arguments.link.value_or(LinkCost{});
  ComputingTimes computing;
  std::string source;
  if (arguments.rate > 0) {
    computing = run.computing_at(arguments.rate * 1e9);
    source = fmt::format("computing is set: {:g} GFLOP/s a thread (--rate)\n", arguments.rate);
  } else {
    const PlannedRun::Measured how = run.measured_on(cores);
    const MeasuredStep measured = measure_step(run.config(), how, cores);
    computing = run.computing(measured.times, cores);
    source = source_text(measured, how);
    program = std::max(program, measured.program);
  }
  if (arguments.json) return job.print_as_it_is(plan_json(run.step(), computing, cost));
  std::string step = step_text(run, computing, cost) + source;
  if (run.ranks().nodes() > 1) step += fmt::format("link of a host: {}\n", link_text(cost));
  const std::int64_t memory = arguments.memory > 0 ? arguments.memory : granted_memory();
  job.print(heading(run) + "\n" + layers_text(run.layers()) + "\n" +
            memory_text(run.memory(program), run.ranks().ranks_per_node(), memory) + "\n" +
            collectives_text(collectives_of(run.step())) + "\n" + in_lines(step, 2));
}

}  // namespace trainer
