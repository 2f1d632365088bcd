#include "models/huggingface/gguf.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <string_view>

#include "engine/core/error.h"
#include "models/huggingface/directory.h"
#include "models/huggingface/gguf_tokenizer.h"

namespace trainer {
namespace {

/// Layers in Hugging Face's files and in GGUF.
constexpr struct {
  std::string_view there, here;
} kLayerNames[] = {{"wte", "token_embd"},
                   {"wpe", "position_embd"},
                   {"ln_1", "attn_norm"},
                   {"attn.c_attn", "attn_qkv"},
                   {"attn.c_proj", "attn_output"},
                   {"ln_2", "ffn_norm"},
                   {"mlp.c_fc", "ffn_up"},
                   {"mlp.c_proj", "ffn_down"},
                   {"ln_f", "output_norm"},
                   {"embed_tokens", "token_embd"},
                   {"input_layernorm", "attn_norm"},
                   {"self_attn.q_proj", "attn_q"},
                   {"self_attn.k_proj", "attn_k"},
                   {"self_attn.v_proj", "attn_v"},
                   {"self_attn.o_proj", "attn_output"},
                   {"post_attention_layernorm", "ffn_norm"},
                   {"mlp.gate_proj", "ffn_gate"},
                   {"mlp.up_proj", "ffn_up"},
                   {"mlp.down_proj", "ffn_down"},
                   {"norm", "output_norm"},
                   {"lm_head", "output"}};

/// "blk.3.attn_q.weight" of "model.layers.3.self_attn.q_proj.weight"
std::string gguf_name(std::string_view name) {
  std::string block;
  for (const std::string_view prefix : {"transformer.h.", "model.layers.", "transformer.", "model."})
    if (name.starts_with(prefix)) {
      name.remove_prefix(prefix.size());
      if (prefix == "transformer.h." || prefix == "model.layers.") {
        const std::size_t number = name.find('.') + 1;
        block = "blk." + std::string(name.substr(0, number));
        name.remove_prefix(number);
      }
      break;
    }
  const std::size_t dot = name.rfind('.');
  for (const auto& [there, here] : kLayerNames)
    if (there == name.substr(0, dot)) return block + std::string(here) + std::string(name.substr(dot));
  throw std::logic_error("no name in GGUF for " + std::string(name));
}

/// Rows in the order in which llama.cpp rotates them: a feature of the first half of a head, then its partner
/// of the second half.
NamedTensor interleaved(NamedTensor tensor, std::int64_t heads) {
  const std::int64_t width = tensor.shape[1], size = tensor.shape[0] / heads, half = size / 2;
  std::vector<float> values(tensor.values.size());
  for (std::int64_t row = 0; row < tensor.shape[0]; ++row) {
    const std::int64_t at = row % size, to = row - at + at % half * 2 + at / half;
    std::copy_n(tensor.values.data() + row * width, width, values.data() + to * width);
  }
  tensor.values = std::move(values);
  return tensor;
}

GgufMetadata metadata_of(const TransformerSettings& settings, const std::string& name) {
  const bool is_gpt2 = settings.family == TransformerFamily::gpt2;
  const std::string family = is_gpt2 ? "gpt2." : "llama.";
  GgufMetadata data;
  data.text("general.architecture", is_gpt2 ? "gpt2" : "llama");
  data.text("general.name", name);
  data.count("general.alignment", kGgufAlignment);
  data.count("general.file_type", 0);  // all tensors are F32
  data.count(family + "context_length", settings.positions);
  data.count(family + "embedding_length", settings.width);
  data.count(family + "block_count", settings.layers);
  data.count(family + "feed_forward_length", settings.inner);
  data.count(family + "attention.head_count", settings.heads);
  data.count(family + "vocab_size", settings.vocabulary);
  if (is_gpt2) {
    data.real(family + "attention.layer_norm_epsilon", settings.epsilon);
  } else {
    data.count(family + "attention.head_count_kv", settings.key_heads);
    data.real(family + "attention.layer_norm_rms_epsilon", settings.epsilon);
    data.count(family + "rope.dimension_count", settings.width / settings.heads);
    data.real(family + "rope.freq_base", settings.rotary_base);
  }
  return data;
}

std::string head_of(const GgufMetadata& metadata, const std::vector<NamedTensor>& tensors) {
  constexpr std::uint32_t kVersion = 3, kFloat32 = 0;
  GgufBytes head;
  head.append("GGUF");
  head.number(kVersion);
  head.number(static_cast<std::uint64_t>(tensors.size()));
  head.number(metadata.size());
  head.append(metadata.bytes());
  std::uint64_t offset = 0;
  for (const NamedTensor& tensor : tensors) {
    head.text(tensor.name);
    head.number(static_cast<std::uint32_t>(tensor.shape.rank()));
    for (int axis = tensor.shape.rank() - 1; axis >= 0; --axis)
      head.number(static_cast<std::uint64_t>(tensor.shape[axis]));
    head.number(kFloat32);
    head.number(offset);
    const std::uint64_t bytes = tensor.values.size() * sizeof(float);
    offset += (bytes + kGgufAlignment - 1) / kGgufAlignment * kGgufAlignment;
  }
  head.align(kGgufAlignment);
  return head.bytes();
}

}  // namespace

GgufFile gguf_file(const TransformerForm& form, const Tokenizer* tokenizer, std::vector<NamedTensor> tensors,
                   const std::string& name) {
  const TransformerSettings& settings = form.settings;
  const bool is_gpt2 = settings.family == TransformerFamily::gpt2;
  const char* const own = is_gpt2 ? "gelu_tanh" : "silu";
  const bool is_near = is_gpt2 && settings.activation == "gelu";
  if (settings.activation != own && !is_near)
    throw Error(ExitCode::usage,
                fmt::format("llama.cpp computes {} with `activation: {}`, this network has `{}`",
                            name_of(settings.family), own, settings.activation),
                "`trainer export RUN hf` keeps the activation");
  GgufMetadata metadata = metadata_of(settings, name);
  std::string note = add_tokenizer(metadata, tokenizer, settings.vocabulary);

  TransformerForm unturned = form;  // matrices are (outputs, inputs)
  for (TensorMatch& match : unturned.tensors) match.is_turned = false;
  GgufFile file{.head = {}, .tensors = huggingface_tensors(unturned, std::move(tensors))};
  if (is_near)
    note += std::string(note.empty() ? "" : "; ") +
            "llama.cpp computes gelu_tanh in the place of gelu, which differs by up to 0.0005";
  file.note = std::move(note);
  for (NamedTensor& tensor : file.tensors) {
    if (tensor.name.ends_with("q_proj.weight")) tensor = interleaved(std::move(tensor), settings.heads);
    if (tensor.name.ends_with("k_proj.weight")) tensor = interleaved(std::move(tensor), settings.key_heads);
    tensor.name = gguf_name(tensor.name);
  }
  file.head = head_of(metadata, file.tensors);
  return file;
}

}  // namespace trainer
