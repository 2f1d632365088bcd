#include <fmt/format.h>

#include <optional>

#include "cli/commands/commands.h"
#include "cli/commands/mesh_and_threads.h"
#include "cli/commands/predictions.h"
#include "cli/commands/trained_run.h"
#include "cli/launching/collective_errors.h"
#include "cli/terminal/output.h"
#include "cli/terminal/text.h"
#include "datasets/inputs/input_samples.h"
#include "models/prediction/prediction_stream.h"

namespace trainer {
namespace {

/// A model with the description of its data.
struct TrainedModel {
  TrainedCheckpoint checkpoint;
  ConfigTree config;
  DataDescription data;
};

TrainedModel open_model(const Job& job, MeshAndThreads& work) {
  std::optional<TrainedCheckpoint> found;
  std::optional<OpenRun> run;
  std::optional<ConfigTree> config;
  run_collectively(job.world, [&] {
    found = find_trained(job.arguments.files.front(), job.arguments.overrides);
    if (found->data)
      config.emplace(found->config, run_settings());
    else  // Earlier programs did not describe the data: it must be where it was.
      run.emplace(open_trained_with_data(*found, work.mesh, work.pool).run);
  });
  if (run) {
    // Mean and deviation are those of the training samples.
    if (!run->session->data().normalised.empty()) load_samples(*run->session);
    if (!run->session->data().notice.empty()) job.warn("note: " + run->session->data().notice + "\n");
    found->data = describe(run->session->data());
    config.emplace(std::move(run->config));
  } else {
    const DatasetInfo& info = found->data->info;
    const auto define = [&](const char* name, int count) {
      config->define(name, count > 0 ? std::to_string(count) : "");
    };
    define("classes", info.classes);
    define("vocab", info.vocabulary);
  }
  DataDescription data = std::move(*found->data);
  return {.checkpoint = std::move(*found), .config = std::move(*config), .data = std::move(data)};
}

}  // namespace

int predict_command(const Job& job) {
  const Arguments& arguments = job.arguments;
  MeshAndThreads work(job);
  const TrainedModel model = open_model(job, work);
  std::optional<Predictor> predictor;
  std::optional<PredictionWriter> writer;
  run_collectively(job.world, [&] {
    predictor.emplace(model.config.root(), model.data, work.pool.size());
    predictor->load(model.checkpoint.path / kModelFile);
    writer.emplace(predictor->form(), PredictionWriter::Options{.format = arguments.prediction_format,
                                                                .top = arguments.top,
                                                                .has_ids = !arguments.id.empty()});
  });
  std::unique_ptr<SampleSource> source;
  if (job.world.rank() == 0)
    source = input_samples({arguments.files.begin() + 1, arguments.files.end()}, model.data,
                           {.id = arguments.id, .array = arguments.array});
  const auto print = [&](const std::string& text) {
    if (arguments.prediction_format == PredictionFormat::best)
      job.print(text);
    else
      job.print_as_it_is(text);
  };
  std::int64_t skipped = 0, all = 0;
  predict_all(*predictor, source.get(), work.pool, job.world, [&](std::span<const Prediction> predictions) {
    print(writer->text(predictions));
    flush_output();
    for (const Prediction& prediction : predictions) {
      ++all;
      if (prediction.problem.empty()) continue;
      ++skipped;
      job.warn("skipped " + prediction.problem + "\n");
    }
  });
  print(writer->end());
  if (skipped > 0)
    job.warn(fmt::format("{} of {} skipped: damaged, or not for this model\n", grouped(skipped),
                         counted(all, "input")));
  job.world.sum(std::span(&skipped, 1));
  return static_cast<int>(skipped > 0 ? ExitCode::data : ExitCode::ok);
}

}  // namespace trainer
