#include <fmt/format.h>

#include <optional>

#include "cli/commands/commands.h"
#include "cli/commands/mesh_and_threads.h"
#include "cli/commands/predictions.h"
#include "cli/commands/trained_model.h"
#include "cli/launching/collective_errors.h"
#include "cli/terminal/output.h"
#include "cli/terminal/text.h"
#include "datasets/inputs/input_samples.h"
#include "models/prediction/prediction_stream.h"

namespace trainer {
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
                                                                .threshold = arguments.threshold,
                                                                .has_ids = !arguments.id.empty()});
    if (!arguments.id.empty() && !takes_tables(model.data))
      throw Error(ExitCode::usage, "--id names a column of a table, and the model takes none",
                  "--csv and --json name the file of each prediction");
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
    job.warn(fmt::format("{} of {} skipped: missing, damaged, or not for this model\n", grouped(skipped),
                         counted(all, "input")));
  job.world.sum(std::span(&skipped, 1));
  return static_cast<int>(skipped > 0 ? ExitCode::data : ExitCode::ok);
}

}  // namespace trainer
