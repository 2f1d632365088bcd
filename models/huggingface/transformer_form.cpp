#include "models/huggingface/transformer_form.h"

#include <fmt/format.h>

#include <string_view>

namespace trainer {
namespace {

using Entry = Sequence::Entry;

constexpr const char* kHelp =
    "`trainer new gpt TEXT --from DIR` prints the layers of a directory; docs/export.md describes both "
    "forms, "
    "and `trainer export RUN onnx` takes other networks";

class FormReader {
 public:
  TransformerForm read(const Sequence& sequence, std::int64_t positions);

 private:
  using Layers = std::vector<const Entry*>;

  [[noreturn]] static void fail(const Entry& entry, const std::string& what) {
    throw Error(ExitCode::usage, fmt::format("{} is in no GPT-2 and no Llama: {}", entry.name, what), kHelp);
  }
  /// The layers of a residual's body, of these types.
  static Layers body_of(const Entry& entry, std::initializer_list<std::string_view> types);
  static void require_type(const Entry& entry, std::string_view type) {
    if (entry.type != type) fail(entry, fmt::format("`{}` is expected in its place", type));
  }
  void require_setting(const Entry& entry, const char* key, bool value) const {
    if (entry.config->get<bool>(key) != value)
      fail(entry, fmt::format("{} requires `{}: {}`", name_of(settings().family), key, value));
  }
  /// A value that all layers have in common.
  template <class T>
  void set(const Entry& entry, const char* key, T& common, const T& value) const {
    if (settings().layers == 0 && common == T()) common = value;
    if (common != value) fail(entry, fmt::format("its `{}` differs from that of earlier layers", key));
  }

  bool is_gpt2() const { return settings().family == TransformerFamily::gpt2; }
  const TransformerSettings& settings() const { return form_.settings; }
  std::string block() const {
    return (is_gpt2() ? "transformer.h." : "model.layers.") + std::to_string(settings().layers) + ".";
  }
  void match(const std::string& here, std::vector<std::string> there, bool is_turned = false) {
    form_.tensors.push_back({here, std::move(there), is_turned});
  }
  /// Weight and, of GPT-2, bias.
  void match_layer(const Entry& entry, const std::string& there, bool is_turned) {
    match(entry.name + ".weight", {there + ".weight"}, is_turned);
    if (is_gpt2()) match(entry.name + ".bias", {there + ".bias"});
  }

  void read_embedding(const Entry& entry);
  void read_norm(const Entry& entry, const std::string& there);
  void read_attention(const Entry& entry);
  void read_feed_forward(const Entry& entry);
  /// A dense layer of a feed-forward block; its units.
  std::int64_t read_dense(const Entry& entry, const std::string& there, bool has_activation);
  void read_output(const Entry& entry, const Entry& embedding);

  TransformerForm form_;
};

FormReader::Layers FormReader::body_of(const Entry& entry, std::initializer_list<std::string_view> types) {
  const Config shortcut = entry.config->at("shortcut");
  if (shortcut.type() == "layers" || shortcut.value<std::string>() == "conv")
    fail(entry, "its shortcut is not the input");
  Layers layers = computing_layers(*inner_sequences(entry).front());
  if (layers.size() != types.size())
    fail(entry, fmt::format("its body has {} layers, expected are {}: {}", layers.size(), types.size(),
                            fmt::join(types, ", ")));
  std::size_t i = 0;
  for (const std::string_view type : types) require_type(*layers[i++], type);
  return layers;
}

void FormReader::read_embedding(const Entry& entry) {
  require_type(entry, "embedding");
  if (entry.config->get<std::string>("positions") != (is_gpt2() ? "learned" : "none"))
    fail(entry, fmt::format("{} requires `positions: {}`", name_of(settings().family),
                            is_gpt2() ? "learned" : "none"));
  form_.settings.width = entry.config->get<std::int64_t>("units");
  form_.settings.vocabulary = entry.config->get<std::int64_t>("vocabulary");
  match(entry.name + ".weight", {is_gpt2() ? "transformer.wte.weight" : "model.embed_tokens.weight"});
  if (is_gpt2()) match(entry.name + ".positions", {"transformer.wpe.weight"});
}

void FormReader::read_norm(const Entry& entry, const std::string& there) {
  require_type(entry, is_gpt2() ? "layer_norm" : "rms_norm");
  if (is_gpt2()) require_setting(entry, "bias", true);
  const auto epsilon = entry.config->get<double>("epsilon");
  if (form_.settings.epsilon == 0) form_.settings.epsilon = epsilon;
  if (form_.settings.epsilon != epsilon) fail(entry, "its `epsilon` differs from that of earlier layers");
  match_layer(entry, there, false);
}

void FormReader::read_attention(const Entry& entry) {
  const Layers layers = body_of(entry, {is_gpt2() ? "layer_norm" : "rms_norm", "attention"});
  const Entry& attention = *layers[1];
  require_setting(attention, "causal", true);
  require_setting(attention, "rotary", !is_gpt2());
  require_setting(attention, "bias", is_gpt2());
  const Config& config = *attention.config;
  const auto heads = config.get<std::int64_t>("heads");
  const std::int64_t key_heads = config.has("kv_heads") ? config.get<std::int64_t>("kv_heads") : heads;
  if (is_gpt2() && key_heads != heads) fail(attention, "GPT-2 requires as many `kv_heads` as heads");
  set(attention, "heads", form_.settings.heads, heads);
  set(attention, "kv_heads", form_.settings.key_heads, key_heads);
  if (settings().layers == 0) form_.settings.rotary_base = config.get<double>("rotary_base");
  if (settings().rotary_base != config.get<double>("rotary_base"))
    fail(attention, "its `rotary_base` differs from that of earlier layers");

  const std::string &name = attention.name, block = this->block();
  if (is_gpt2()) {
    read_norm(*layers[0], block + "ln_1");
    match(name + ".in_proj_weight", {block + "attn.c_attn.weight"}, true);
    match(name + ".in_proj_bias", {block + "attn.c_attn.bias"});
    match(name + ".out_proj.weight", {block + "attn.c_proj.weight"}, true);
    match(name + ".out_proj.bias", {block + "attn.c_proj.bias"});
  } else {
    read_norm(*layers[0], block + "input_layernorm");
    const std::string own = block + "self_attn.";
    match(name + ".in_proj_weight", {own + "q_proj.weight", own + "k_proj.weight", own + "v_proj.weight"});
    match(name + ".out_proj.weight", {own + "o_proj.weight"});
  }
}

std::int64_t FormReader::read_dense(const Entry& entry, const std::string& there, bool has_activation) {
  require_type(entry, "dense");
  require_setting(entry, "bias", is_gpt2());
  if (entry.config->has("tie")) fail(entry, "it shares a weight");
  const auto activation = entry.config->get<std::string>("activation");
  if (has_activation && !is_known_activation(activation))
    fail(entry, fmt::format("they have no feed-forward layers with `activation: {}`", activation));
  if (has_activation)
    set(entry, "activation", form_.settings.activation, activation);
  else if (activation != "none")
    fail(entry, "it has an `activation`");
  match_layer(entry, block() + there, is_gpt2());
  return entry.config->has("units") ? entry.config->get<std::int64_t>("units")
                                    : entry.config->get<std::int64_t>("expand") * settings().width;
}

void FormReader::read_feed_forward(const Entry& entry) {
  std::int64_t inner = 0;
  if (is_gpt2()) {
    const Layers layers = body_of(entry, {"layer_norm", "dense", "dense"});
    read_norm(*layers[0], block() + "ln_2");
    inner = read_dense(*layers[1], "mlp.c_fc", true);
    read_dense(*layers[2], "mlp.c_proj", false);
  } else {
    const Layers layers = body_of(entry, {"rms_norm", "multiply", "dense"});
    read_norm(*layers[0], block() + "post_attention_layernorm");
    const std::vector<Sequence*> branches = inner_sequences(*layers[1]);
    if (branches.size() != 2 || computing_layers(*branches[0]).size() != 1 ||
        computing_layers(*branches[1]).size() != 1)
      fail(*layers[1], "Llama multiplies two dense layers, the first with an activation");
    inner = read_dense(*computing_layers(*branches[0])[0], "mlp.gate_proj", true);
    read_dense(*computing_layers(*branches[1])[0], "mlp.up_proj", false);
    read_dense(*layers[2], "mlp.down_proj", false);
  }
  set(entry, "units", form_.settings.inner, inner);
}

void FormReader::read_output(const Entry& entry, const Entry& embedding) {
  require_type(entry, "dense");
  require_setting(entry, "bias", false);
  if (entry.config->get<std::string>("activation") != "none") fail(entry, "it has an `activation`");
  if (!entry.config->has("units") || entry.config->get<std::int64_t>("units") != settings().vocabulary)
    fail(entry, "its units are not the tokens of the embedding");
  form_.settings.is_tied = entry.config->has("tie");
  if (!settings().is_tied)
    match(entry.name + ".weight", {"lm_head.weight"});
  else if (entry.config->get<std::string>("tie") != embedding.name)
    fail(entry, "it shares another weight than the embedding's");
}

TransformerForm FormReader::read(const Sequence& sequence, std::int64_t positions) {
  const Layers layers = computing_layers(sequence);
  constexpr std::size_t kEnds = 3;  // embedding, norm, output
  if (layers.size() < kEnds + 2 || layers.size() % 2 == 0)
    throw Error(ExitCode::usage,
                fmt::format("a network of {} layers is no GPT-2 and no Llama, which have an embedding, two "
                            "residuals a block, a norm and a dense layer",
                            layers.size()),
                kHelp);
  const Entry &norm = *layers[layers.size() - 2], &output = *layers.back();
  form_.settings.family = norm.type == "rms_norm" ? TransformerFamily::llama : TransformerFamily::gpt2;
  form_.settings.positions = positions;
  read_embedding(*layers[0]);
  for (std::size_t i = 1; i + kEnds <= layers.size(); i += 2) {
    require_type(*layers[i], "residual");
    require_type(*layers[i + 1], "residual");
    read_attention(*layers[i]);
    read_feed_forward(*layers[i + 1]);
    ++form_.settings.layers;
  }
  read_norm(norm, is_gpt2() ? "transformer.ln_f" : "model.norm");
  read_output(output, *layers[0]);
  return std::move(form_);
}

}  // namespace

TransformerForm transformer_form(const Sequence& layers, std::int64_t positions) {
  return FormReader().read(layers, positions);
}

}  // namespace trainer
