#include <fmt/format.h>

#include <filesystem>

#include "cli/commands/commands.h"
#include "cli/commands/find_run.h"
#include "cli/commands/huggingface_export.h"
#include "cli/commands/mesh_and_threads.h"
#include "cli/commands/trained_run.h"
#include "cli/terminal/argument_words.h"
#include "cli/terminal/text.h"
#include "datasets/readers/table_features.h"
#include "engine/core/little_endian.h"
#include "engine/system/files.h"
#include "models/exporting/c/c_writer.h"
#include "models/exporting/network_graph.h"
#include "models/exporting/onnx/onnx_writer.h"
#include "models/formats/npz.h"

namespace trainer {
namespace {

namespace fs = std::filesystem;

std::string name_of(ExportFormat format) {
  for (const auto& [name, known] : kExportFormats)
    if (known == format) return name;
  return "";
}

/// The elements of a sample of a table.
std::vector<InputNote> input_notes(const Session& session) {
  std::vector<InputNote> notes;
  const std::vector<TableColumn>& columns = session.data().form.columns;
  if (columns.empty()) return notes;
  const TableFeatures features(columns);
  for (const std::string& name : features.names()) notes.push_back({.name = name});
  std::size_t element = 0;
  for (std::size_t input = 0; input < features.inputs(); ++input) {
    const TableColumn& column = features.column(input);
    if (column.kind != TableColumn::Kind::category && !column.requires_value)
      notes[element].fill = column.fill;
    element += features.elements(input);
  }
  return notes;
}

/// "image 1x28x28 (channels x height x width), values in [0, 1]"
std::string input_text(const Session& session) {
  const DatasetInfo& info = session.data().train->info();
  const std::string shape = channels_first_text(info.sample);
  if (info.vocabulary > 0) return fmt::format("{} ids of tokens in [0, {})", shape, info.vocabulary);
  if (!input_notes(session).empty())
    return fmt::format("{}: a number or a boolean as it is, 1 for the element of a category", shape);
  const std::string what = info.sample.rank() == 3 ? "channels x height x width; pixels are in [0, 1]"
                                                   : "values as the data has them";
  return fmt::format("{} ({})", shape, what);
}

/// True if all outputs of a sample are one answer, whatever axes the last layer has.
bool is_one_answer(const Session& session) {
  const Dataset& samples = *session.data().train;
  if (samples.positions() > 0) return false;
  if (samples.classes() > 0) return true;
  const Shape& output = session.network().output();
  const std::int64_t channels = channel_count(output);
  const auto targets = std::ssize(session.data().target_statistics.mean);
  return targets > 0 && output.size() != channels && targets != channels;
}

std::string output_text(const Session& session) {
  const bool is_probability = session.loss().link() != Link::identity;
  const Shape& output = session.network().output();
  const std::string count =
      is_one_answer(session) ? std::to_string(output.size()) : channels_first_text(output);
  return fmt::format("{} {}{}", count, is_probability ? "probabilit" : "output",
                     is_probability ? (output.size() == 1 ? "y" : "ies")
                                    : (output.size() == 1 ? " of the last layer" : "s of the last layer"));
}

ModelNotes notes_of(const TrainedRun& trained, const fs::path& run) {
  const Session& session = trained.session();
  // `best` is a link to the checkpoint itself.
  std::error_code ignored;
  const fs::path checkpoint = fs::canonical(trained.checkpoint, ignored);
  return {.name = fmt::format("{}, {}", fs::canonical(run, ignored).filename().string(),
                              checkpoint.filename().string()),
          .input = input_text(session),
          .output = output_text(session),
          .inputs = input_notes(session),
          .classes = session.data().train->info().class_names};
}

/// The run directory, or the checkpoint itself where it lies in none.
fs::path folder_of(const fs::path& path) {
  const fs::path run = find_run(path).run;
  std::error_code ignored;
  return fs::exists(run / "config.yaml", ignored) ? run : path;
}

/// The network as `predict` uses it: from samples as the data has them to probabilities or values.
Graph graph_of(const TrainedRun& trained) {
  Session& session = trained.session();
  const Dataset& samples = *session.data().train;
  const ChannelStatistics& targets = session.data().target_statistics;
  const Shape& output = session.network().output();
  GraphEnds ends{.has_padding = samples.has_lengths(),
                 .link = session.loss().link(),
                 .is_one_answer = is_one_answer(session)};
  const std::int64_t channels = channel_count(output);
  if (!targets.mean.empty())
    for (std::int64_t i = 0; i < (ends.is_one_answer ? output.size() : channels); ++i) {
      const std::size_t channel = static_cast<std::size_t>(i) % targets.mean.size();
      ends.output_scale.push_back(targets.deviation[channel]);
      ends.output_shift.push_back(targets.mean[channel]);
    }
  if (!session.data().normalised.empty()) {
    // The mean and the deviation of each channel are those of the training samples.
    const Normalised& normalised = *session.data().normalised.front();
    if (normalised.scale().empty()) load_samples(session);
    ends.scale.assign(normalised.scale().begin(), normalised.scale().end());
    ends.shift.assign(normalised.shift().begin(), normalised.shift().end());
  }
  return network_graph(session.network(), trained.values, session.network().states(), ends);
}

std::string safetensors_file(const std::vector<NamedTensor>& tensors) {
  std::vector<TensorEntry> entries;
  entries.reserve(tensors.size());
  for (const NamedTensor& tensor : tensors) entries.push_back({tensor.name, tensor.shape});
  std::string content = safetensors_head(entries, {});
  for (const NamedTensor& tensor : tensors) content.append(LittleEndian(tensor.values).text());
  return content;
}

std::string file_content(const TrainedRun& trained, const fs::path& run, ExportFormat format) {
  if (format == ExportFormat::npz) return npz_file(merged_tensors(trained));
  if (format == ExportFormat::safetensors) return safetensors_file(merged_tensors(trained));
  const Graph graph = graph_of(trained);
  const ModelNotes notes = notes_of(trained, run);
  return format == ExportFormat::onnx ? onnx_file(graph, notes) : c_file(graph, notes);
}

}  // namespace

void export_command(const Job& job) {
  const Arguments& arguments = job.arguments;
  require_one_process(job);
  MeshAndThreads work(job);
  const ExportFormat format = arguments.export_format;
  const std::string& path = arguments.files.front();
  const fs::path run = folder_of(path);
  const TrainedRun trained = open_trained(path, arguments.overrides, work.mesh, work.pool);
  if (const std::string& notice = trained.session().data().notice; !notice.empty())
    job.warn("note: " + notice + "\n");
  const fs::path file = !arguments.out.empty()       ? fs::path(arguments.out)
                        : format == ExportFormat::hf ? run / "huggingface"
                                                     : run / ("model." + name_of(format));
  std::error_code ignored;
  if (format != ExportFormat::hf && fs::is_directory(file, ignored))
    throw Error(ExitCode::usage, fmt::format("--out {} is a directory", file.string()),
                fmt::format("--out {}", (file / ("model." + name_of(format))).string()));
  if (format == ExportFormat::hf || format == ExportFormat::gguf) {
    const WrittenFiles written = format == ExportFormat::hf
                                     ? write_huggingface_directory(trained, file)
                                     : write_gguf(trained, file, notes_of(trained, run).name);
    for (const std::string& one : written.files)
      job.print(fmt::format("{}: {}\n", one, bytes_text(static_cast<std::int64_t>(fs::file_size(one)))));
    if (!written.note.empty()) job.warn("note: " + written.note + "\n");
    return;
  }
  const std::string content = file_content(trained, run, format);
  write_file(file, content);
  job.print(fmt::format("{}: {}\n", file.string(), bytes_text(std::ssize(content))));
  if (format == ExportFormat::npz || format == ExportFormat::safetensors) return;
  job.print(table({{"input", input_text(trained.session())}, {"output", output_text(trained.session())}}, 2));
}

}  // namespace trainer
