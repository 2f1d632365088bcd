#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <optional>

#include "cli/commands.h"
#include "cli/text.h"
#include "cli/trained_run.h"
#include "cli/workplace.h"
#include "datasets/readers/scaled_picture.h"
#include "models/training/run_directory.h"
#include "models/training/team.h"

namespace trainer {
namespace {

void check_kind(const Session& session, const std::string& run) {
  const Dataset& train = *session.data().train;
  const Shape sample = train.sample();
  std::string why;
  if (train.vocabulary() > 0 || sample.rank() != 3 || (sample[2] != 1 && sample[2] != 3))
    why = "its model takes " + channels_first_text(sample);
  else if (train.positions() > 0)
    why = "its model gives a class for each pixel";
  if (!why.empty())
    throw Error(ExitCode::usage, fmt::format("{} is not for predict: {}", run, why),
                "predict takes pictures, gray or coloured, of which each gets one answer");
}

/// Side of the part that is taken out of a picture's middle: as where the model's own pictures come from.
double crop_of(const OpenRun& run) {
  const Config dataset = run.config.root().at("data").at("dataset");
  return dataset.type() == "image_folder" ? dataset.get<double>("crop") : 1;
}

/// What the model gives for each picture, one after the other.
std::vector<float> outputs_of(const OpenRun& run, const std::vector<std::string>& files) {
  const Session& session = *run.session;
  Network& network = session.network();
  const Shape& sample = network.input();
  const PictureExtents extents{sample[0], sample[1], sample[2]};
  const std::vector<Normalised*>& normalised = session.data().normalised;
  const std::int64_t size = network.output().size(), batch = session.settings().part(),
                     count = std::ssize(files);
  std::vector<float> outputs(static_cast<std::size_t>(count * size));
  std::vector<std::int64_t> samples;
  for (std::int64_t first = 0; first < count; first += batch) {
    samples.resize(static_cast<std::size_t>(std::min(batch, count - first)));
    std::iota(samples.begin(), samples.end(), first);
    session.pool().run([&](int worker) {
      const Range rows = session.blocks().rows(network.blocks_of(worker), std::ssize(samples));
      const auto mine = std::span<const std::int64_t>(samples).subspan(
          static_cast<std::size_t>(rows.first), static_cast<std::size_t>(rows.count()));
      const Tensor x = network.input(worker, rows.count());
      PictureScaler scaler(extents, crop_of(run));
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

void make_probabilities(std::span<float> scores) {
  const float highest = *std::ranges::max_element(scores);
  for (float& score : scores) score = std::exp(score - highest);
  const float sum = std::accumulate(scores.begin(), scores.end(), 0.0f);
  for (float& score : scores) score /= sum;
}

/// "7  99.8%  2  0.1%  3  0.0%"
std::vector<std::string> best_cells(std::span<const float> probabilities,
                                    const std::vector<std::string>& names) {
  std::vector<std::size_t> order(probabilities.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const std::size_t shown = std::min<std::size_t>(order.size(), 3);
  std::ranges::partial_sort(order, order.begin() + static_cast<std::ptrdiff_t>(shown), std::greater(),
                            [&](std::size_t i) { return probabilities[i]; });
  std::vector<std::string> cells;
  for (std::size_t i = 0; i < shown; ++i) {
    cells.push_back(names.empty() ? std::to_string(order[i]) : names[order[i]]);
    cells.push_back(fmt::format("{:.1f}%", 100 * probabilities[order[i]]));
  }
  return cells;
}

std::string json_line(const std::string& file, std::span<const float> outputs, bool classifies,
                      const std::vector<std::string>& names) {
  std::string line = fmt::format(R"({{"file":{})", json_text(file));
  if (classifies) {
    const auto best = static_cast<std::size_t>(std::ranges::max_element(outputs) - outputs.begin());
    line += fmt::format(R"(,"class":{})", best);
    if (!names.empty()) line += fmt::format(R"(,"name":{})", json_text(names[best]));
  }
  line += fmt::format(R"(,"{}":[)", classifies ? "probabilities" : "outputs");
  for (std::size_t i = 0; i < outputs.size(); ++i)
    line += (i > 0 ? "," : "") + (std::isfinite(outputs[i]) ? fmt::format("{:.6g}", outputs[i]) : "null");
  return line + "]}\n";
}

/// A field of CSV (RFC 4180).
std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string field = "\"";
  for (const char letter : text) field += letter == '"' ? "\"\"" : std::string(1, letter);
  return field + '"';
}

/// "file,class,cat,dog", or of a model that gives no classes "file,0,1"
std::string csv_head(std::size_t outputs, bool classifies, const std::vector<std::string>& names) {
  std::string line = classifies ? "file,class" : "file";
  for (std::size_t i = 0; i < outputs; ++i)
    line += ',' + (names.empty() ? std::to_string(i) : csv_field(names[i]));
  return line + '\n';
}

std::string csv_line(const std::string& file, std::span<const float> outputs, bool classifies,
                     const std::vector<std::string>& names) {
  std::string line = csv_field(file);
  if (classifies) {
    const auto best = static_cast<std::size_t>(std::ranges::max_element(outputs) - outputs.begin());
    line += ',' + (names.empty() ? std::to_string(best) : csv_field(names[best]));
  }
  for (const float number : outputs) line += fmt::format(",{:.6g}", number);
  return line + '\n';
}

std::string predictions(const OpenRun& run, const std::vector<std::string>& files, std::vector<float> outputs,
                        PredictionFormat format) {
  const Session& session = *run.session;
  const auto size = static_cast<std::size_t>(session.network().output().size());
  const bool classifies = run.config.root().at("model").at("loss").type() == "softmax_cross_entropy";
  const std::vector<std::string> names = session.data().sources.front()->class_names();
  std::string lines = format == PredictionFormat::csv ? csv_head(size, classifies, names) : "";
  std::vector<std::vector<std::string>> rows;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const auto row = std::span(outputs).subspan(i * size, size);
    if (classifies) make_probabilities(row);
    if (format != PredictionFormat::table) {
      lines += (format == PredictionFormat::json ? json_line : csv_line)(files[i], row, classifies, names);
      continue;
    }
    rows.push_back({files[i]});
    if (classifies)
      std::ranges::copy(best_cells(row, names), std::back_inserter(rows.back()));
    else
      for (const float number : row) rows.back().push_back(short_number(number));
  }
  return format == PredictionFormat::table ? table(rows, 1) : lines;
}

}  // namespace

void predict_command(const Job& job) {
  const Arguments& arguments = job.arguments;
  if (job.world.size() > 1)
    throw Error(ExitCode::ranks, "predict is for one process", "leave the launcher out");
  Workplace work(job);
  const std::string& path = arguments.files.front();
  const std::vector<std::string> files(arguments.files.begin() + 1, arguments.files.end());
  TrainedRun trained = open_trained(path, arguments.overrides, work.mesh, work.pool);
  Session& session = trained.session();
  check_kind(session, path);
  // Their mean and deviation are those of the training samples.
  if (!session.data().normalised.empty()) load_samples(session);
  if (!session.data().notice.empty()) job.warn("note: " + session.data().notice + "\n");
  Team team(work.mesh, work.pool, true, session.exact_blocks());
  session.network().attach(trained.values, {}, team);
  job.print(predictions(trained.run, files, outputs_of(trained.run, files), arguments.prediction_format));
}

}  // namespace trainer
