#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "cli/commands/commands.h"
#include "cli/commands/mesh_and_threads.h"
#include "cli/commands/predictions.h"
#include "cli/commands/trained_run.h"
#include "datasets/readers/scaled_image.h"
#include "models/training/evaluated_network.h"

namespace trainer {
namespace {

void check_kind(const Session& session, const std::string& run) {
  const Dataset& train = *session.data().train;
  const Shape sample = train.sample();
  std::string why;
  if (train.info().vocabulary > 0 || sample.rank() != 3 || (sample[2] != 1 && sample[2] != 3))
    why = "its model takes " + channels_first_text(sample);
  else if (train.positions() > 0)
    why = "its model gives a class for each pixel";
  if (!why.empty())
    throw Error(ExitCode::usage, fmt::format("{} is not for predict: {}", run, why),
                "predict takes images, gray or coloured, of which each gets one answer");
}

/// Side of the centre crop, relative to the largest one: that of the training images.
double crop_of(const OpenRun& run) {
  const Config dataset = run.config.root().at("data").at("dataset");
  return dataset.type() == "image_folder" ? dataset.get<double>("crop") : 1;
}

/// The outputs of the model, (files, outputs).
std::vector<float> outputs_of(const OpenRun& run, const std::vector<std::string>& files) {
  const Session& session = *run.session;
  Network& network = session.network();
  const Shape& sample = network.input();
  const ImageExtents extents{sample[0], sample[1], sample[2]};
  const std::vector<Normalised*>& normalised = session.data().normalised;
  const std::int64_t size = network.output().size(), batch = session.settings().micro_batch(),
                     count = std::ssize(files);
  std::vector<float> outputs(static_cast<std::size_t>(count * size));
  std::vector<std::int64_t> samples;
  for (std::int64_t first = 0; first < count; first += batch) {
    samples.resize(static_cast<std::size_t>(std::min(batch, count - first)));
    std::iota(samples.begin(), samples.end(), first);
    session.pool().run([&](int worker) {
      const Range rows =
          session.virtual_workers().rows(network.virtual_workers_of(worker), std::ssize(samples));
      const auto mine = std::span<const std::int64_t>(samples).subspan(
          static_cast<std::size_t>(rows.first), static_cast<std::size_t>(rows.count()));
      const Tensor x = network.input(worker, rows.count());
      ImageScaler scaler(extents, crop_of(run));
      for (std::size_t row = 0; row < mine.size(); ++row)
        scaler.read(files[static_cast<std::size_t>(mine[row])],
                    x.data() + static_cast<std::int64_t>(row) * extents.size());
      if (!normalised.empty()) normalised.front()->normalise(x);
      const ConstTensor y = network.forward(
          worker, {.mode = Mode::evaluation, .samples = mine, .batch_rows = std::ssize(samples)});
      std::ranges::copy(y.span(), outputs.begin() + (first + rows.first) * size);
    });
  }
  return outputs;
}

}  // namespace

void predict_command(const Job& job) {
  const Arguments& arguments = job.arguments;
  if (job.world.size() > 1)
    throw Error(ExitCode::ranks, "predict is for one process", "start it without mpirun");
  MeshAndThreads work(job);
  const std::string& path = arguments.files.front();
  const std::vector<std::string> files(arguments.files.begin() + 1, arguments.files.end());
  TrainedRun trained = open_trained(path, arguments.overrides, work.mesh, work.pool);
  Session& session = trained.session();
  check_kind(session, path);
  // Their mean and deviation are those of the training samples.
  if (!session.data().normalised.empty()) load_samples(session);
  if (!session.data().notice.empty()) job.warn("note: " + session.data().notice + "\n");
  const EvaluatedNetwork evaluated(session, trained.values);
  const std::vector<float> outputs = outputs_of(trained.run, files);
  const std::string text = predictions_text(
      {.files = files,
       .outputs = outputs,
       .classes = session.data().train->info().class_names,
       .are_scores = trained.run.config.root().at("model").at("loss").type() == "softmax_cross_entropy"},
      arguments.prediction_format);
  if (arguments.prediction_format == PredictionFormat::best)
    job.print(text);
  else
    job.print_as_it_is(text);
}

}  // namespace trainer
