#include "cli/templates/huggingface_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "cli/templates/data_section.h"
#include "datasets/readers/known_files.h"
#include "engine/config/emit.h"
#include "engine/core/error.h"
#include "models/huggingface/directory.h"

namespace trainer {
namespace {

namespace fs = std::filesystem;

/// The value of `tokens`.
std::string tokens_of(const fs::path& folder, const TransformerSettings& settings) {
  const auto has = [&](const char* name) {
    std::error_code ignored;
    return fs::exists(folder / name, ignored);
  };
  if (has("tokenizer.model"))
    return commented(fmt::format("      tokens: {{sentencepiece: {{file: {}}}}}",
                                 yaml_text((folder / "tokenizer.model").string())),
                     "its tokenizer");
  if (has("tokenizer.json") || has("vocab.json"))
    return commented(fmt::format("      tokens: {{gpt2: {}}}", yaml_text(folder.string())), "its tokenizer");
  if (settings.vocabulary == 256) return commented("      tokens: bytes", "it has 256 tokens");
  throw Error(
      ExitCode::data,
      {Diagnostic{.what = "it holds no tokenizer that is known here",
                  .place = folder.string(),
                  .notes = {"looked for tokenizer.model, tokenizer.json, and vocab.json with merges.txt"}}});
}

std::string data_yaml(const fs::path& folder, const TransformerSettings& settings, const std::string& text) {
  constexpr std::int64_t kUsual = 128, kBytesOfToken = 4;
  std::int64_t sequence = std::min(kUsual, settings.positions);
  std::error_code unknown;
  const auto bytes = static_cast<std::int64_t>(fs::file_size(existing_file(text), unknown));
  // Ten sequences at least, so that validation has one.
  while (!unknown && sequence > 4 && bytes / kBytesOfToken < 12 * (sequence + 1)) sequence /= 2;
  return "data:\n  dataset:\n    text:\n      file: " + yaml_text(text) + "\n" + tokens_of(folder, settings) +
         commented(fmt::format("      sequence: {}", sequence),
                   fmt::format("tokens of a sample, up to {}", settings.positions)) +
         commented("  validation: 0.1", "the end of the text is held out");
}

/// "layer_norm", or with its epsilon where that is another than the default.
std::string norm_of(const TransformerSettings& settings) {
  const bool is_gpt2 = settings.family == TransformerFamily::gpt2;
  const char* const name = is_gpt2 ? "layer_norm" : "rms_norm";
  return settings.epsilon == (is_gpt2 ? 1e-5 : 1e-6)
             ? name
             : fmt::format("{{{}: {{epsilon: {}}}}}", name, settings.epsilon);
}

std::string block_yaml(const TransformerSettings& settings) {
  const std::string norm = norm_of(settings);
  if (settings.family == TransformerFamily::gpt2)
    return fmt::format(
        "      - residual: [{}, {{attention: {{heads: {}, causal: true}}}}]\n"
        "      - residual: [{}, {{dense: {{units: {}, activation: {}}}}}, {{dense: {}}}]\n",
        norm, settings.heads, norm, settings.inner, settings.activation, settings.width);
  const std::string shared =
      settings.key_heads == settings.heads ? "" : fmt::format("kv_heads: {}, ", settings.key_heads);
  return fmt::format(
      "      - residual: [{}, {{attention: {{heads: {}, {}causal: true, rotary: true, rotary_base: {}, bias: "
      "false}}}}]\n"
      "      - residual:\n"
      "          - {}\n"
      "          - multiply: [[dense: {{units: {}, activation: {}, bias: false}}], [dense: {{units: {}, "
      "bias: "
      "false}}]]\n"
      "          - dense: {{units: {}, bias: false}}\n",
      norm, settings.heads, shared, settings.rotary_base, norm, settings.inner, settings.activation,
      settings.inner, settings.width);
}

}  // namespace

std::string huggingface_config(const std::string& folder, const std::string& text) {
  const TransformerSettings settings = read_transformer_settings(folder);
  if (text.empty())
    throw Error(ExitCode::usage, "--from requires a text to train on",
                "trainer new gpt letters.txt --from " + folder);
  if (existing_file(text).empty())
    throw Error(ExitCode::data, {Diagnostic{.what = "no such file", .place = text}});
  const bool is_gpt2 = settings.family == TransformerFamily::gpt2;
  return fmt::format("# {} of {} layers, {} features, {} tokens\n", name_of(settings.family), settings.layers,
                     settings.width, settings.vocabulary) +
         "# Check: trainer check FILE   train: trainer FILE   as it is: trainer FILE -s train.epochs=0\n" +
         data_yaml(folder, settings, text) + "blocks:\n  decoder:\n    layers:\n" + block_yaml(settings) +
         "model:\n  layers:\n" +
         fmt::format("    - embedding: {{units: {}, vocabulary: {}{}, name: tokens}}\n", settings.width,
                     settings.vocabulary, is_gpt2 ? ", positions: learned" : "") +
         fmt::format("    - decoder: {{repeat: {}}}\n    - {}\n", settings.layers, norm_of(settings)) +
         fmt::format("    - dense: {{units: {}, bias: false{}}}\n", settings.vocabulary,
                     settings.is_tied ? ", tie: tokens" : "") +
         commented("  weights: {file: " + yaml_text(folder) + "}", "they are read once, at the start") +
         "  loss: softmax_cross_entropy\n"
         "train:\n" +
         commented("  epochs: 1", "passes over the text") +
         commented("  batch: 8", "samples of an update, over all processes") +
         commented("  optimizer: {adamw: {lr: 5.0e-5, weight_decay: 0.01}}", "small: the weights are good") +
         "  schedule: cosine\n"
         "  warmup: {steps: 20}\n"
         "  clip_norm: 1\n"
         "  metrics: [accuracy, perplexity]\n";
}

}  // namespace trainer
