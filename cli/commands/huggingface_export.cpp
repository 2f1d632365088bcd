#include "cli/commands/huggingface_export.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <variant>

#include "datasets/readers/tokenizer_json.h"
#include "engine/core/base64.h"
#include "engine/core/little_endian.h"
#include "engine/system/files.h"
#include "models/huggingface/directory.h"
#include "models/huggingface/gguf.h"

namespace trainer {
namespace {

namespace fs = std::filesystem;

/// `counters`: names of scalars, which are 0.
void write_tensors(const fs::path& path, const std::vector<NamedTensor>& tensors,
                   const std::vector<std::string>& counters = {}) {
  std::vector<TensorEntry> entries;
  entries.reserve(counters.size() + tensors.size());
  for (const std::string& counter : counters) entries.push_back({counter, Shape{}, true});
  for (const NamedTensor& tensor : tensors) entries.push_back({tensor.name, tensor.shape});
  const std::string head = safetensors_head(entries, {{"format", "pt"}});
  const std::vector<std::int64_t> zeros(counters.size());
  OutputFile file(path);
  file.write(std::as_bytes(std::span(head)));
  file.write(std::as_bytes(std::span(zeros)));
  for (const NamedTensor& tensor : tensors) file.write(LittleEndian(tensor.values).bytes());
  file.commit();
}

/// The files of a tokenizer and their contents.
std::vector<std::pair<std::string, std::string>> tokenizer_files(const Tokenizer& tokenizer,
                                                                 std::int64_t positions) {
  using Json = nlohmann::ordered_json;
  if (tokenizer.kind() == "sentencepiece") {
    const auto model = bytes_of_base64(tokenizer.definition());
    const bool adds_space = tokenizer.decode(tokenizer.encode("a")).starts_with(' ');
    const Json config{{"tokenizer_class", "LlamaTokenizer"},
                      {"model_max_length", positions},
                      {"add_bos_token", false},
                      {"add_eos_token", false},
                      {"add_prefix_space", adds_space},
                      {"legacy", false}};
    return {{"tokenizer.model", model.value_or("")}, {"tokenizer_config.json", config.dump(2) + "\n"}};
  }
  const Json config{{"tokenizer_class", "PreTrainedTokenizerFast"},
                    {"model_max_length", positions},
                    {"clean_up_tokenization_spaces", false}};
  return {{"tokenizer.json", tokenizer_json(tokenizer).value()},
          {"tokenizer_config.json", config.dump(2) + "\n"}};
}

TransformerForm form_of(const TrainedRun& trained) {
  const Network& network = trained.session().network();
  return transformer_form(network.layers(), network.input()[0]);
}

/// Makes the folder and writes files into it, config.json last: without it a directory is none.
class DirectoryWriter {
 public:
  explicit DirectoryWriter(const fs::path& folder) : folder_(folder) {
    std::error_code problem;
    fs::create_directories(folder, problem);
    if (problem)
      throw Error(ExitCode::failure, fmt::format("cannot make {}: {}", folder.string(), problem.message()));
  }
  void add_tensors(const std::vector<NamedTensor>& tensors, const std::vector<std::string>& counters = {}) {
    write_tensors(folder_ / "model.safetensors", tensors, counters);
    note("model.safetensors");
  }
  void add(const std::string& name, const std::string& content) {
    write_file(folder_ / name, content);
    note(name);
  }

  WrittenFiles written;

 private:
  void note(const std::string& name) { written.files.push_back((folder_ / name).string()); }

  fs::path folder_;
};

WrittenFiles write_transformer(const TrainedRun& trained, const fs::path& folder) {
  const Tokenizer* const tokenizer = trained.session().data().train->info().tokenizer;
  const TransformerForm form = form_of(trained);
  const std::vector<NamedTensor> tensors = huggingface_tensors(form, merged_tensors(trained));
  DirectoryWriter directory(folder);
  directory.add_tensors(tensors);
  if (tokenizer)
    for (const auto& [name, content] : tokenizer_files(*tokenizer, form.settings.positions))
      directory.add(name, content);
  directory.add("config.json", config_json(form.settings));
  return std::move(directory.written);
}

/// How the run's images become inputs; why Hugging Face's programs cannot do that, if they cannot.
std::variant<ImageForm, std::string> image_form(const TrainedRun& trained) {
  Session& session = trained.session();
  const Shape& input = session.network().input();
  if (input[0] != input[1]) return "images are not square";
  if (input[2] != 1 && input[2] != 3) return fmt::format("images have {} channels", input[2]);
  // Means and deviations are those of the training samples.
  if (!session.data().normalised.empty() && session.data().statistics.mean.empty()) load_samples(session);
  const Data& data = session.data();
  ImageForm form{.size = input[0],
                 .channels = input[2],
                 .crop = data.form.crop,
                 .mean = data.statistics.mean,
                 .deviation = data.statistics.deviation};
  for (std::size_t channel = 0; channel < form.mean.size(); ++channel)
    if (data.statistics.scale(channel) == 0) return "a channel is constant";
  return form;
}

WrittenFiles write_resnet(const TrainedRun& trained, const fs::path& folder) {
  const Session& session = trained.session();
  const Network& network = session.network();
  if (!session.data().target_statistics.mean.empty())
    throw Error(ExitCode::usage,
                "a ResNet of Hugging Face gives outputs as they are, those of this run are scaled",
                "a run without data.normalize_targets; `trainer export RUN onnx` writes this one");
  const ResNetForm form = resnet_form(network.layers(), network.input()[2]);
  const std::vector<NamedTensor> tensors = huggingface_tensors(form, merged_tensors(trained));
  std::vector<std::string> counters, outputs = session.data().train->info().class_names;
  constexpr std::string_view kMean = ".running_mean";
  for (const NamedTensor& tensor : tensors)
    if (tensor.name.ends_with(kMean))
      counters.push_back(tensor.name.substr(0, tensor.name.size() - kMean.size()) + ".num_batches_tracked");
  for (std::int64_t i = std::ssize(outputs); i < network.output().size(); ++i)
    outputs.push_back(fmt::format("LABEL_{}", i));
  const auto images = image_form(trained);
  DirectoryWriter directory(folder);
  directory.add_tensors(tensors, counters);
  if (const auto* const known = std::get_if<ImageForm>(&images))
    directory.add("preprocessor_config.json", preprocessor_json(*known));
  else
    directory.written.note = fmt::format("{}: there is no preprocessor_config.json in the directory",
                                         std::get<std::string>(images));
  directory.add("config.json", config_json(form.settings, outputs, session.loss().link()));
  return std::move(directory.written);
}

}  // namespace

WrittenFiles write_huggingface_directory(const TrainedRun& trained, const fs::path& folder) {
  return takes_images(trained.session().network().input()) ? write_resnet(trained, folder)
                                                           : write_transformer(trained, folder);
}

WrittenFiles write_gguf(const TrainedRun& trained, const fs::path& path, const std::string& name) {
  const GgufFile content = gguf_file(form_of(trained), trained.session().data().train->info().tokenizer,
                                     merged_tensors(trained), name);
  const std::vector<std::byte> zeros(kGgufAlignment);
  OutputFile file(path);
  file.write(std::as_bytes(std::span(content.head)));
  for (const NamedTensor& tensor : content.tensors) {
    const LittleEndian values(tensor.values);
    const std::size_t fill = (kGgufAlignment - values.bytes().size() % kGgufAlignment) % kGgufAlignment;
    file.write(values.bytes());
    file.write(std::span(zeros).first(fill));
  }
  file.commit();
  return {.files = {path.string()}, .note = content.note};
}

}  // namespace trainer
