#include "cli/commands/huggingface_export.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "datasets/readers/tokenizer_json.h"
#include "engine/core/base64.h"
#include "engine/system/files.h"
#include "models/huggingface/directory.h"
#include "models/huggingface/gguf.h"

namespace trainer {
namespace {

namespace fs = std::filesystem;

void write_tensors(const fs::path& path, const std::vector<NamedTensor>& tensors) {
  std::vector<TensorEntry> entries;
  entries.reserve(tensors.size());
  for (const NamedTensor& tensor : tensors) entries.push_back({tensor.name, tensor.shape});
  const std::string head = safetensors_head(entries, {{"format", "pt"}});
  OutputFile file(path);
  file.write(std::as_bytes(std::span(head)));
  for (const NamedTensor& tensor : tensors) file.write(std::as_bytes(std::span(tensor.values)));
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
  const std::optional<std::string> json = tokenizer_json(tokenizer);
  if (!json) return {};
  const Json config{{"tokenizer_class", "PreTrainedTokenizerFast"},
                    {"model_max_length", positions},
                    {"clean_up_tokenization_spaces", false}};
  return {{"tokenizer.json", *json}, {"tokenizer_config.json", config.dump(2) + "\n"}};
}

TransformerForm form_of(const TrainedRun& trained) {
  const Network& network = trained.session().network();
  return transformer_form(network.layers(), network.input()[0]);
}

}  // namespace

WrittenFiles write_huggingface_directory(const TrainedRun& trained, const fs::path& folder) {
  const Tokenizer* const tokenizer = trained.session().data().train->info().tokenizer;
  const TransformerForm form = form_of(trained);
  const std::vector<NamedTensor> tensors = huggingface_tensors(form, merged_tensors(trained));
  std::error_code problem;
  fs::create_directories(folder, problem);
  if (problem)
    throw Error(ExitCode::failure, fmt::format("cannot make {}: {}", folder.string(), problem.message()));
  WrittenFiles written;
  const auto note = [&](const std::string& name) { written.files.push_back((folder / name).string()); };
  write_tensors(folder / "model.safetensors", tensors);
  note("model.safetensors");
  if (tokenizer) {
    const auto files = tokenizer_files(*tokenizer, form.settings.positions);
    for (const auto& [name, content] : files) {
      write_file(folder / name, content);
      note(name);
    }
    if (files.empty())
      written.note =
          fmt::format("Hugging Face's programs have no tokenizer of {}: there is none in the directory",
                      tokenizer->kind());
  }
  // Last: without it a directory is none.
  write_file(folder / "config.json", config_json(form.settings));
  note("config.json");
  return written;
}

WrittenFiles write_gguf(const TrainedRun& trained, const fs::path& path, const std::string& name) {
  const GgufFile content = gguf_file(form_of(trained), trained.session().data().train->info().tokenizer,
                                     merged_tensors(trained), name);
  const std::vector<std::byte> zeros(kGgufAlignment);
  OutputFile file(path);
  file.write(std::as_bytes(std::span(content.head)));
  for (const NamedTensor& tensor : content.tensors) {
    const auto bytes = std::as_bytes(std::span(tensor.values));
    const std::size_t fill = (kGgufAlignment - bytes.size() % kGgufAlignment) % kGgufAlignment;
    file.write(bytes);
    file.write(std::span(zeros).first(fill));
  }
  file.commit();
  return {.files = {path.string()}, .note = content.note};
}

}  // namespace trainer
