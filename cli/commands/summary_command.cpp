#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "cli/commands/commands.h"
#include "cli/commands/mesh_and_threads.h"
#include "cli/commands/open_run.h"
#include "cli/launching/collective_errors.h"
#include "cli/reports/header.h"
#include "cli/terminal/text.h"
#include "engine/config/registry.h"
#include "engine/core/sum_tree.h"
#include "models/optimizers/outer_optimizer.h"

namespace trainer {
namespace {

/// Parameters of the whole layer, which end at `parameter_end`, and the operations of one sample's forward
/// pass.
std::vector<std::string> row_of(const Sequence::Entry& entry, const NetworkPlan& plan,
                                std::int64_t parameter_end, std::int64_t& total_operations) {
  std::int64_t parameters = 0;
  bool learns = false;
  for (const Parameter& parameter : plan.parameters())
    if (parameter.offset >= entry.first_parameter && parameter.offset < parameter_end) {
      parameters += parameter.whole_shape().size();
      learns |= parameter.rate > 0;
    }
  const std::int64_t operations = entry.layer->flops();
  total_operations += operations;
  return {entry.name, entry.type + (parameters > 0 && !learns ? ", frozen" : ""),
          channels_first_text(entry.output), parameters > 0 ? grouped(parameters) : "",
          operations > 0 ? grouped(operations) : ""};
}

/// What virtual workers of `train.local` need beside the global model, on the rank that hosts the most: each
/// thread parameters, a gradient and activations of its own, each virtual worker its optimizer states and its
/// difference.
std::string local_memory_line(const OpenRun& run) {
  const Session& session = *run.session;
  const TrainSettings& settings = session.settings();
  if (!settings.local) return "";
  const Config root = run.config.root();
  const auto alone = solo();
  Mesh mesh(*alone, {});
  ThreadPool pool(1);
  const Session share(root, session, mesh, pool);
  const int ranks = session.mesh().data().size(),
            workers = (settings.local->virtual_workers + ranks - 1) / ranks;
  const std::int64_t values = 4 * share.network().plan().parameter_end(),
                     threads = std::min(session.pool().size(), workers),
                     activations = threads * share.network().worker_bytes();
  const auto optimizer = Registry<Optimizer>::make(root.at("train").at("optimizer"));
  const std::int64_t copies = 2 * threads * values,
                     states = workers * (std::ssize(optimizer->states()) + 1) * values;
  return fmt::format(
      "and {} virtual workers: {}: parameters and gradients {}, optimizers {}, activations {} ({} rows)\n",
      workers, bytes_text(copies + states + activations), bytes_text(copies), bytes_text(states),
      bytes_text(activations), share.network().plan().max_rows());
}

/// Memory of one rank: parameters, gradients, the optimizer states of its shard, activations.
std::string memory_lines(const Session& session, const Config& train) {
  const Network& network = session.network();
  const Mesh& mesh = session.mesh();
  const std::int64_t values = 4 * network.plan().parameter_end(), workers = session.pool().size();
  const TrainSettings& settings = session.settings();
  std::unique_ptr<Optimizer> optimizer = Registry<Optimizer>::make(train.at("optimizer"));
  if (settings.local) optimizer = Registry<OuterOptimizer>::make(train.at("local").at("outer"));
  const std::int64_t arrays =
      std::ssize(optimizer->states()) + (settings.ema > 0 ? 1 : 0) + (settings.accumulate > 1 ? 1 : 0);
  // All ranks divide the update of layers that split rows.
  const std::int64_t split = 4 * network.split_parameter_end();
  const std::int64_t state = arrays * (split / mesh.world().size() + (values - split) / mesh.data().size());
  // Only the sums of virtual workers' differences are written in local SGD.
  std::int64_t roots = 0;
  for (int worker = 0; worker < workers; ++worker)
    roots += std::ssize(
        SumTree::of_leaves(session.virtual_workers().count, network.virtual_workers_of(worker)).roots());
  const std::int64_t activations = workers * network.worker_bytes(),
                     gradients = settings.local ? roots * values : network.gradient_bytes();
  return fmt::format(
      "memory a rank: {}: parameters {}, gradients {}, optimizer {}, activations {} ({} rows a worker)\n",
      bytes_text(values + gradients + state + activations), bytes_text(values), bytes_text(gradients),
      bytes_text(state), bytes_text(activations), network.plan().max_rows());
}

std::string summary(const OpenRun& run) {
  const Session& session = *run.session;
  const Network& network = session.network();
  std::vector<std::vector<std::string>> rows{{"layer", "type", "output", "parameters", "FLOPs a sample"}};
  rows.push_back({"input", "", channels_first_text(network.input()), "", ""});
  std::int64_t operations = 0;
  const std::vector<Sequence::Entry>& entries = network.layers().entries();
  for (auto entry = entries.begin(); entry != entries.end(); ++entry) {
    if (!entry->config) continue;
    // The bias of a sharded layer may belong to a BiasActivation that follows it.
    const auto next =
        std::find_if(entry + 1, entries.end(), [](const auto& other) { return other.config.has_value(); });
    const std::int64_t end = next == entries.end() ? network.plan().parameter_end() : next->first_parameter;
    rows.push_back(row_of(*entry, network.plan(), end, operations));
  }
  rows.push_back(
      {"total", "", "", grouped(session.parameter_count()), operations > 0 ? grouped(operations) : ""});
  return "data  " + data_text(session.data()) + "\n\n" + table(rows, 2) + "\n" +
         memory_lines(session, run.config.root().at("train")) + local_memory_line(run);
}

}  // namespace

void summary_command(const Job& job) {
  const Arguments& arguments = job.arguments;
  const ConfigSource config{.file = arguments.files.front(), .overrides = arguments.overrides};
  MeshAndThreads work(job, config);
  std::string text;
  run_collectively(job.world, [&] { text = summary(open_run(config, work.mesh, work.pool)); });
  job.print(text);
}

}  // namespace trainer
