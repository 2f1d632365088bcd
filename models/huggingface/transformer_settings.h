#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace trainer {

/// Transformers whose directories Hugging Face's programs write: GPT-2 (Radford et al. 2019) and Llama
/// (Touvron et al. 2023, "LLaMA").
enum class TransformerFamily { gpt2, llama };
/// "GPT-2"
const char* name_of(TransformerFamily family);

/// What config.json describes.
struct TransformerSettings {
  TransformerFamily family = TransformerFamily::gpt2;
  std::int64_t layers = 0, width = 0, heads = 0, key_heads = 0;
  std::int64_t inner = 0;  ///< units of the feed-forward layers
  std::int64_t vocabulary = 0;
  std::int64_t positions = 0;  ///< of the longest sequence
  double epsilon = 0;          ///< of the norms
  double rotary_base = 10000;  ///< of Llama
  std::string activation;      ///< of the feed-forward layers, as `dense` calls it
  bool is_tied = false;        ///< the output layer has the weight of the embedding
};

/// Whether Hugging Face's programs have this function of `dense`.
bool is_known_activation(const std::string& activation);

/// Of the text of a config.json, which is not trusted. Error(weights) with `place` if it describes another
/// family, or what networks here do not compute.
TransformerSettings parse_transformer_settings(std::string_view text, const std::string& place);
/// The text of a config.json.
std::string config_json(const TransformerSettings& settings);

/// What a network computes differently than a config.json describes: "num_attention_heads is 8, here 4".
/// Numbers of tokens and positions may differ.
std::vector<std::string> differences(const TransformerSettings& file, const TransformerSettings& here);

}  // namespace trainer
