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
#include "models/optimizers/optimizer.h"

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

/// Memory of one rank: parameters, gradients, the optimizer states of its shard, activations.
std::string memory_lines(const Session& session, const Config& train) {
  const Network& network = session.network();
  const Mesh& mesh = session.mesh();
  const std::int64_t values = 4 * network.plan().parameter_end(), workers = session.pool().size();
  const auto optimizer = Registry<Optimizer>::make(train.at("optimizer"));
  const TrainSettings& settings = session.settings();
  const std::int64_t arrays =
      std::ssize(optimizer->states()) + (settings.ema > 0 ? 1 : 0) + (settings.accumulate > 1 ? 1 : 0);
  const std::int64_t state = arrays * values / mesh.data().size();
  const std::int64_t activations = workers * network.worker_bytes(), gradients = network.gradient_bytes();
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
         memory_lines(session, run.config.root().at("train"));
}

}  // namespace

void summary_command(const Job& job) {
  const Arguments& arguments = job.arguments;
  MeshAndThreads work(job);
  std::string text;
  run_collectively(job.world, [&] {
    text = summary(
        open_run({.file = arguments.files.front(), .overrides = arguments.overrides}, work.mesh, work.pool));
  });
  job.print(text);
}

}  // namespace trainer
