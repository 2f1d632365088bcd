#include <fmt/format.h>

#include <algorithm>

#include "cli/commands/commands.h"
#include "cli/commands/mesh_and_threads.h"
#include "cli/commands/micro_batches.h"
#include "cli/commands/open_run.h"
#include "cli/commands/planned_run.h"
#include "cli/launching/collective_errors.h"
#include "cli/reports/header.h"
#include "cli/reports/summary_table.h"
#include "cli/terminal/text.h"
#include "engine/config/registry.h"
#include "engine/system/memory_use.h"
#include "models/local/worker_mean.h"

namespace trainer {
namespace {

/// What virtual workers of `train.local` need beside the global model, on the rank that hosts the most: each
/// thread parameters, a gradient and activations of its own, each virtual worker its optimizer states, its
/// difference and with one_bit its residual; and where they average their states, messages.
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
  const std::int64_t residuals = settings.compression.has_feedback() ? 1 : 0, copies = 2 * threads * values,
                     states = workers * (std::ssize(optimizer->states()) + 1 + residuals) * values;
  const WorkerMean mean(session.mesh().data(), session.virtual_workers());
  const std::int64_t messages =
      settings.local->averages_states ? mean.message_floats(share.network().plan().parameter_end()) * 4 : 0;
  return in_lines(
      fmt::format("and {} virtual workers: {}: parameters and gradients {}, optimizers {}, "
                  "activations {} ({} rows){}\n",
                  workers, bytes_text(copies + states + activations + messages), bytes_text(copies),
                  bytes_text(states), bytes_text(activations), share.network().plan().max_rows(),
                  messages > 0 ? ", messages of means " + bytes_text(messages) : ""),
      2);
}

/// What a rank of `train.async` needs beside its shard: parameters, gradients and activations to compute
/// with, and the memory into which other ranks write parameters and gradients.
std::string async_memory_line(const OpenRun& run) {
  const Session& session = *run.session;
  if (!session.settings().async) return "";
  const auto alone = solo();
  Mesh mesh(*alone, {});
  const Session share(run.config.root(), session, mesh, session.pool());
  const std::int64_t values = 4 * share.network().plan().parameter_end(), threads = session.pool().size(),
                     copies = (1 + threads) * values, messages = 2 * values,
                     activations = threads * share.network().worker_bytes();
  return in_lines(
      fmt::format("and to compute a share of a batch: {}: parameters and gradients {}, "
                  "activations {} ({} rows), messages {}\n",
                  bytes_text(copies + activations + messages), bytes_text(copies), bytes_text(activations),
                  share.network().plan().max_rows(), bytes_text(messages)),
      2);
}

/// The memory of one rank, with its share of the blocks that ranks share. `program`: of a process alone.
std::string memory_lines(const OpenRun& run, std::int64_t program) {
  const Session& session = *run.session;
  // What a process loads when it trains; ranks share a part of it.
  constexpr std::int64_t kAlone = 9 << 20, kOfSeveral = 5 << 20;
  const MemoryPlan plan =
      memory_of_training(run, program + (session.mesh().world().size() > 1 ? kOfSeveral : kAlone));
  const NetworkPlan& rows = session.network().plan();
  std::string parts;
  for (const MemoryPlan::Part& part : plan.parts) {
    const std::int64_t bytes = part.on_host / session.mesh().node().size();
    parts += fmt::format("\n  {:<30}{:>12}", part.kind, bytes_text(bytes));
    if (part.kind.starts_with("activations")) parts += fmt::format("  ({} rows a worker)", rows.max_rows());
    if (part.sharers > 1)
      parts += fmt::format("  (its share of {}, for {} ranks)", bytes_text(part.bytes), part.sharers);
  }
  const std::int64_t total = bytes_of_rank(plan, session), micro_batches = session.settings().accumulate;
  return "memory a rank: " + bytes_text(total) +
         (micro_batches > 1 ? fmt::format(", with {} micro-batches", micro_batches) : "") + parts + "\n";
}

std::string summary(const OpenRun& run, std::int64_t program) {
  const Session& session = *run.session;
  return in_lines("data  " + data_text(session.data()), 6) + "\n\n" + summary_table(session.network()) +
         "\n" + memory_lines(run, program) + local_memory_line(run) + async_memory_line(run);
}

}  // namespace

void summary_command(const Job& job) {
  const std::int64_t program = proportional_memory();
  const Arguments& arguments = job.arguments;
  ConfigSource config = config_source(arguments.files, arguments.overrides);
  MeshAndThreads work(job, config);
  const OpenRun run = open_fitted_run(config, work.mesh, work.pool);
  job.print(summary(run, program));
}

}  // namespace trainer
