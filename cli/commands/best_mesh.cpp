#include "cli/commands/best_mesh.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>
#include <string>

#include "cli/commands/planned_run.h"
#include "cli/launching/collective_errors.h"
#include "engine/system/cores.h"
#include "engine/system/memory_use.h"

namespace trainer {
namespace {

// Typical of a core with AVX2: figures in place of timings, so that a run repeats.
constexpr double kOperationsPerSecond = 50e9, kMemoryBytesPerSecond = 8e9;

struct Candidate {
  MeshShape shape;
  double seconds = 0;
  bool fits = true;
};

std::string text_of(const MeshShape& shape) { return fmt::format("{}x{}", shape.data, shape.model); }

std::string text_of(const Candidate& candidate) {
  return fmt::format("{} {:.3g} ms{}", text_of(candidate.shape), 1e3 * candidate.seconds,
                     candidate.fits ? "" : " (too little memory)");
}

/// Seconds of a step.
double predicted(const PlannedRun& run, const LinkCost& link, int cores) {
  ComputingTimes times = run.computing_at(kOperationsPerSecond);
  const double bytes = sizeof(float) * static_cast<double>(run.session().network().plan().parameter_end());
  // A sum reads a gradient of each worker; an update reads a value, a gradient and a state, and writes two.
  const PlannedRun::Measured host = run.measured_on(cores);
  times.sums = bytes * host.workers / kMemoryBytesPerSecond;
  times.update = 5 * bytes / host.ranks / kMemoryBytesPerSecond;
  times = run.computing(times, cores);
  return predict_step(work_of(run.step(), times, link), cost_of_shard(run.step(), link)).total();
}

/// With local or asynchronous SGD, which have no model ranks.
bool takes_steps_apart(const ConfigSource& config) {
  const ConfigTree tree(config, run_settings());
  return !train_settings(tree.root().at("train")).steps_apart().empty();
}

/// Not collective.
std::vector<Candidate> candidates(const Job& job, const ConfigSource& config, const CpuAffinity& affinity) {
  const Arguments& arguments = job.arguments;
  const int ranks = job.world.size();
  const LinkCost link = arguments.link.value_or(LinkCost{});
  const int per_host =
      arguments.ranks_per_node > 0 ? arguments.ranks_per_node : (ranks + affinity.hosts - 1) / affinity.hosts;
  const int cores = granted_cores(affinity.placement.cores);
  std::vector<Candidate> all;
  std::optional<Error> first_error;
  for (const MeshShape& shape : candidate_meshes(ranks)) try {
      const PlannedRun run(config,
                           {.mesh = {.data = shape.data, .model = shape.model, .ranks_per_node = per_host},
                            .threads = affinity.placement.threads,
                            .workers = workers_of(arguments.workers, affinity.placement.threads)});
      if (shape.model > 1 && !run.is_sharded()) continue;
      all.push_back({.shape = shape,
                     .seconds = predicted(run, link, cores),
                     .fits = run.memory(proportional_memory()).of_host() <= granted_memory()});
    } catch (const Error& error) {
      if (error.code() != ExitCode::ranks) throw;
      if (!first_error) first_error = error;
    }
  if (all.empty() && first_error) throw Error(*first_error);
  return all;
}

}  // namespace

std::vector<MeshShape> candidate_meshes(int ranks) {
  constexpr int kMostModelRanks = 16;
  std::vector<MeshShape> all{{.data = ranks}};
  for (int model = 2; model <= std::min(ranks, kMostModelRanks); ++model)
    if (ranks % model == 0) all.push_back({.data = ranks / model, .model = model});
  return all;
}

MeshShape best_mesh(const Job& job, const ConfigSource& config, const CpuAffinity& affinity) {
  MeshShape best{.data = job.world.size()};
  if (job.world.size() == 1) return best;
  run_collectively(job.world, [&] {
    if (job.world.rank() != 0 || takes_steps_apart(config)) return;
    std::vector<Candidate> all = candidates(job, config, affinity);
    std::ranges::stable_sort(all, [](const Candidate& a, const Candidate& b) {
      return a.fits != b.fits ? a.fits : a.seconds < b.seconds;
    });
    best = all.front().shape;
    std::string text;
    for (const Candidate& candidate : all) text += (text.empty() ? "" : ", ") + text_of(candidate);
    job.warn(fmt::format("note: --mesh {} is taken; predicted for a step: {}\n", text_of(best), text));
  });
  job.world.broadcast(std::as_writable_bytes(std::span(&best, 1)), 0);
  return best;
}

}  // namespace trainer
