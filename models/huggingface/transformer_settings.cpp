#include "models/huggingface/transformer_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "engine/config/source.h"
#include "models/huggingface/config_reader.h"

namespace trainer {
namespace {

using Json = nlohmann::ordered_json;

/// How config.json calls what the families have in common; the first name is the one that is written.
struct Names {
  const char *type, *architecture, *layers, *width, *heads, *inner, *positions, *epsilon, *activation;
};
constexpr Names kGpt2{"gpt2",
                      "GPT2LMHeadModel",
                      "n_layer",
                      "n_embd",
                      "n_head",
                      "n_inner",
                      "n_positions",
                      "layer_norm_epsilon",
                      "activation_function"};
constexpr Names kLlama{"llama",
                       "LlamaForCausalLM",
                       "num_hidden_layers",
                       "hidden_size",
                       "num_attention_heads",
                       "intermediate_size",
                       "max_position_embeddings",
                       "rms_norm_eps",
                       "hidden_act"};

const Names& names_of(TransformerFamily family) { return family == TransformerFamily::gpt2 ? kGpt2 : kLlama; }

/// Hugging Face's name of a function, and ours. Of several with one meaning the first is written.
constexpr struct {
  const char *there, *here;
} kActivations[] = {{"gelu_new", "gelu_tanh"}, {"gelu_pytorch_tanh", "gelu_tanh"},
                    {"gelu", "gelu"},          {"relu", "relu"},
                    {"silu", "silu"},          {"swish", "silu"}};

const char* activation_there(const std::string& here) {
  const auto* const found =
      std::ranges::find_if(kActivations, [&](const auto& known) { return known.here == here; });
  return found == std::end(kActivations) ? nullptr : found->there;
}

void read_gpt2(const ConfigReader& config, TransformerSettings& settings) {
  settings.key_heads = settings.heads;
  settings.inner = config.count(kGpt2.inner, 4 * settings.width);
  config.require("scale_attn_weights", true);
  config.require("scale_attn_by_inverse_layer_idx", false);
  config.require("add_cross_attention", false);
}

void read_llama(const ConfigReader& config, TransformerSettings& settings) {
  settings.key_heads = config.count("num_key_value_heads", settings.heads);
  settings.inner = config.count(kLlama.inner);
  config.require("attention_bias", false);
  config.require("mlp_bias", false);
  if (config.count("head_dim", settings.width / settings.heads) * settings.heads != settings.width)
    config.fail("head_dim times num_attention_heads is not hidden_size: layers here do not compute that");
  // Newer programs write rope_parameters.
  const ConfigReader parameters = config.map("rope_parameters"), scaling = config.map("rope_scaling");
  settings.rotary_base = parameters.real("rope_theta", config.real("rope_theta", 10000));
  for (const ConfigReader& one : {parameters, scaling})
    for (const char* const key : {"rope_type", "type"})
      if (const std::string type = one.text(key, "default"); type != "default")
        config.fail(fmt::format("its rotary positions are scaled by {}: layers here do not compute that",
                                in_quotes(type)));
}

}  // namespace

const char* name_of(TransformerFamily family) {
  return family == TransformerFamily::gpt2 ? "GPT-2" : "Llama";
}

bool is_known_activation(const std::string& activation) { return activation_there(activation) != nullptr; }

TransformerSettings parse_transformer_settings(std::string_view text, const std::string& place) {
  const Json json = parse_config(text, place);
  const ConfigReader config(json, place);
  const std::string type = config.type({kGpt2.type, kLlama.type});
  TransformerSettings settings;
  settings.family = type == kGpt2.type ? TransformerFamily::gpt2 : TransformerFamily::llama;
  const bool is_gpt2 = settings.family == TransformerFamily::gpt2;
  const Names& names = names_of(settings.family);
  settings.layers = config.count(names.layers);
  settings.width = config.count(names.width);
  settings.heads = config.count(names.heads);
  settings.vocabulary = config.count("vocab_size");
  settings.positions = config.count(names.positions);
  settings.epsilon = config.real(names.epsilon, is_gpt2 ? 1e-5 : 1e-6);
  settings.is_tied = config.truth("tie_word_embeddings", is_gpt2);
  const std::string activation = config.text(names.activation, is_gpt2 ? "gelu_new" : "silu");
  const auto* const known =
      std::ranges::find_if(kActivations, [&](const auto& one) { return one.there == activation; });
  if (known == std::end(kActivations))
    config.fail(fmt::format("{} is {}, which is not known here", names.activation, in_quotes(activation)));
  settings.activation = known->here;
  is_gpt2 ? read_gpt2(config, settings) : read_llama(config, settings);
  if (settings.width % settings.heads != 0 || settings.heads % settings.key_heads != 0)
    config.fail("its heads do not divide its features, or those of keys and values do not divide its heads");
  return settings;
}

std::string config_json(const TransformerSettings& settings) {
  const Names& names = names_of(settings.family);
  Json json{{"architectures", Json::array({names.architecture})},
            {"model_type", names.type},
            {"vocab_size", settings.vocabulary},
            {names.positions, settings.positions},
            {names.width, settings.width},
            {names.layers, settings.layers},
            {names.heads, settings.heads}};
  if (settings.family == TransformerFamily::llama) json["num_key_value_heads"] = settings.key_heads;
  json[names.inner] = settings.inner;
  json[names.activation] = activation_there(settings.activation);
  json[names.epsilon] = settings.epsilon;
  if (settings.family == TransformerFamily::llama) {
    json["rope_theta"] = settings.rotary_base;
    json["attention_bias"] = false;
    json["mlp_bias"] = false;
    json["attention_dropout"] = 0.0;
  } else {
    for (const char* const dropout : {"attn_pdrop", "embd_pdrop", "resid_pdrop"}) json[dropout] = 0.0;
  }
  json["tie_word_embeddings"] = settings.is_tied;
  // The defaults would be tokens of the family's own vocabulary.
  json["bos_token_id"] = nullptr;
  json["eos_token_id"] = nullptr;
  json["torch_dtype"] = "float32";
  return json.dump(2) + "\n";
}

std::vector<std::string> differences(const TransformerSettings& file, const TransformerSettings& here) {
  if (file.family != here.family)
    return {
        fmt::format("it is of {}'s form, the network of {}'s", name_of(file.family), name_of(here.family))};
  const Names& names = names_of(file.family);
  std::vector<std::string> notes;
  const auto compare = [&](const char* name, const auto& there, const auto& own) {
    if (there != own) notes.push_back(fmt::format("{} is {}, here {}", name, there, own));
  };
  compare(names.layers, file.layers, here.layers);
  compare(names.width, file.width, here.width);
  compare(names.heads, file.heads, here.heads);
  if (file.family == TransformerFamily::llama) {
    compare("num_key_value_heads", file.key_heads, here.key_heads);
    compare("rope_theta", file.rotary_base, here.rotary_base);
  }
  compare(names.inner, file.inner, here.inner);
  compare(names.activation, file.activation, here.activation);
  // Layers have it as a float.
  compare(names.epsilon, static_cast<float>(file.epsilon), static_cast<float>(here.epsilon));
  compare("tie_word_embeddings", file.is_tied, here.is_tied);
  return notes;
}

}  // namespace trainer
