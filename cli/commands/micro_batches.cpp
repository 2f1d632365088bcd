#include "cli/commands/micro_batches.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cli/commands/planned_run.h"
#include "cli/launching/collective_errors.h"
#include "cli/terminal/text.h"
#include "models/optimizers/outer_optimizer.h"

namespace trainer {
namespace {

/// What `fit` counts for the program and MPI, more than they take: a measured size would give another number,
/// and other bits, from run to run.
constexpr std::int64_t kProgramBytes = 64 << 20;

/// Opens a run with other numbers of micro-batches, for the memory of one rank.
class MicroBatchFit {
 public:
  MicroBatchFit(const ConfigSource& config, Mesh& mesh, ThreadPool& pool, const std::string& learned)
      : config_(config), mesh_(mesh), pool_(pool), learned_(learned) {}

  std::int64_t bytes_with(std::int64_t number) const;
  /// The first of `numbers` with which the memory fits; if there is none, that with the least memory.
  std::int64_t first_fitting(const std::vector<std::int64_t>& numbers, std::int64_t limit) const;

 private:
  const ConfigSource& config_;
  Mesh& mesh_;
  ThreadPool& pool_;
  const std::string& learned_;
};

ConfigSource with_micro_batches(ConfigSource config, std::int64_t number) {
  config.overrides.push_back(fmt::format("train.accumulate={}", number));
  return config;
}

std::int64_t fitted_bytes(const OpenRun& run) {
  return bytes_of_rank(memory_of_training(run, kProgramBytes), *run.session);
}

std::int64_t MicroBatchFit::bytes_with(std::int64_t number) const {
  return fitted_bytes(open_run(with_micro_batches(config_, number), mesh_, pool_, learned_));
}

std::int64_t MicroBatchFit::first_fitting(const std::vector<std::int64_t>& numbers,
                                          std::int64_t limit) const {
  const std::int64_t whole = bytes_with(numbers.front());
  if (whole <= limit) return numbers.front();
  // Several take less memory the more they are; the first one of them adds the gradients that are kept.
  const auto found = std::partition_point(numbers.begin() + 1, numbers.end(),
                                          [&](std::int64_t number) { return bytes_with(number) > limit; });
  if (found != numbers.end()) return *found;
  return bytes_with(numbers.back()) < whole ? numbers.back() : numbers.front();
}

/// Numbers of equal micro-batches that have a sample for each data rank, ascending.
std::vector<std::int64_t> numbers_of_micro_batches(const OpenRun& run, int data_ranks) {
  const std::int64_t batch = run.session->settings().batch;
  if (run.config.root().at("data").get<bool>("streams")) return {1};
  std::vector<std::int64_t> numbers, large;
  for (std::int64_t i = 1; i * i <= batch; ++i) {
    if (batch % i != 0) continue;
    numbers.push_back(i);
    if (i * i != batch) large.push_back(batch / i);
  }
  numbers.insert(numbers.end(), large.rbegin(), large.rend());
  std::erase_if(numbers, [&](std::int64_t number) { return number > 1 && batch / number < data_ranks; });
  return numbers;
}

/// Refuses `fit` where micro-batches change more than rounding.
void require_same_result(const OpenRun& run) {
  const Config train = run.config.root().at("train");
  const auto refuse = [&](const std::string& why, const std::string& help) {
    train.fail("accumulate", "the number of micro-batches is part of the result: " + why, help);
  };
  if (const Compression& compression = run.session->settings().compression; compression.has_feedback())
    refuse(compression.text() + " compresses the gradient of each", "a number, or compression: bf16");
  for (const State& state : run.session->network().plan().states())
    if (state.use == StateUse::model)
      refuse(state.name + " is a statistic of each",
             "a number; or group_norm or layer_norm in place of batch_norm");
}

std::int64_t number_for(const OpenRun& run, const ConfigSource& config, Mesh& mesh, ThreadPool& pool,
                        const std::string& learned) {
  require_same_result(run);
  const TrainSettings& settings = run.session->settings();
  const std::string known = learned.empty() ? learn_data(run.config.root().at("data")) : learned;
  if (!settings.exact)
    return MicroBatchFit(config, mesh, pool, known)
        .first_fitting(numbers_of_micro_batches(run, mesh.data().size()), *settings.memory_limit);
  // The bits follow from the number, so it is that of one process whose threads keep gradients of their own.
  constexpr int kMostThreads = 16;
  PlannedRanks alone({});
  ThreadPool threads(std::min(settings.virtual_workers, kMostThreads));
  return MicroBatchFit(config, alone.mesh(), threads, known)
      .first_fitting(numbers_of_micro_batches(run, 1), *settings.memory_limit);
}

/// `run`: before its number was chosen. `bytes`: of the rank that needs most.
void check_fit(const OpenRun& run, std::int64_t number, std::int64_t bytes) {
  const TrainSettings& settings = run.session->settings();
  if (!settings.memory_limit || bytes <= *settings.memory_limit) return;
  constexpr double kMib = 1 << 20;
  throw Error(
      ExitCode::ranks,
      {run.config.root()
           .at("train")
           .at("accumulate")
           .diagnostic("fit",
                       fmt::format("no number of micro-batches fits: a rank needs {} with {} of {}",
                                   bytes_text(bytes), counted(number, "micro-batch", "es"),
                                   counted(settings.batch / number, "sample")),
                       fmt::format("fit: {:.0f}MiB or more, more ranks, or `recompute` around layers; "
                                   "`trainer summary CONFIG -s train.accumulate={}` shows what takes it",
                                   std::ceil(static_cast<double>(bytes) / kMib), number))});
}

}  // namespace

MemoryPlan memory_of_training(const OpenRun& run, std::int64_t program) {
  const Session& session = *run.session;
  MemoryNeeds needs = memory_needs(run);
  needs.ranks_per_host = session.mesh().node().size();
  needs.program = program;
  if (session.settings().local)
    needs.saved_arrays =
        static_cast<int>(Registry<OuterOptimizer>::make(run.config.root().at("train").at("local").at("outer"))
                             ->states()
                             .size());
  const bool has_feedback = session.settings().compression.has_feedback();
  return memory_plan(session.network(), placed_parameters(session.network(), session.mesh(), has_feedback),
                     needs);
}

std::int64_t bytes_of_rank(const MemoryPlan& plan, const Session& session) {
  std::int64_t bytes = 0;
  for (const MemoryPlan::Part& part : plan.parts) bytes += part.on_host / session.mesh().node().size();
  return bytes;
}

OpenRun open_fitted_run(ConfigSource& config, Mesh& mesh, ThreadPool& pool, const std::string& learned) {
  Communicator& world = mesh.world();
  std::optional<OpenRun> run, fitted;
  double number = 0, bytes = 0;  // of all ranks the most
  run_collectively(world, [&] {
    run.emplace(open_run(config, mesh, pool, learned));
    if (run->session->settings().memory_limit)
      number = static_cast<double>(number_for(*run, config, mesh, pool, learned));
  });
  world.maximum({&number, 1});
  if (number == 0) return std::move(*run);
  config = with_micro_batches(config, static_cast<std::int64_t>(number));
  run_collectively(world, [&] {
    fitted.emplace(open_run(config, mesh, pool, learned));
    bytes = static_cast<double>(fitted_bytes(*fitted));
  });
  world.maximum({&bytes, 1});
  run_collectively(
      world, [&] { check_fit(*run, static_cast<std::int64_t>(number), static_cast<std::int64_t>(bytes)); });
  return std::move(*fitted);
}

OpenRun open_fitted_plan(ConfigSource& config, Mesh& mesh, ThreadPool& pool) {
  OpenRun run = open_run(config, mesh, pool);
  if (!run.session->settings().memory_limit) return run;
  const std::int64_t number = number_for(run, config, mesh, pool, "");
  config = with_micro_batches(config, number);
  OpenRun fitted = open_run(config, mesh, pool);
  check_fit(run, number, fitted_bytes(fitted));
  return fitted;
}

}  // namespace trainer
