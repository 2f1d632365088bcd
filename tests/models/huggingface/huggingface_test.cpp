// Directories of Hugging Face: config.json, the form of a network, and its weights there and back; and GGUF.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>

#include "datasets/readers/tokenizers.h"
#include "engine/core/error.h"
#include "engine/system/files.h"
#include "models/formats/layout.h"
#include "models/huggingface/directory.h"
#include "models/huggingface/gguf.h"
#include "tests/support/layer_check.h"
#include "tests/support/safetensors_writer.h"
#include "tests/support/temporary_folder.h"

namespace trainer {
namespace {

const std::string kGpt2 =
    "embedding: {units: 8, vocabulary: 11, positions: learned, name: tokens}, dropout: 0.1, "
    "residual: [layer_norm, {attention: {heads: 2, causal: true}}, dropout: 0.1], "
    "residual: [layer_norm, {dense: {expand: 3, activation: gelu_tanh}}, {dense: 8}], "
    "recompute: [residual: [layer_norm, {attention: {heads: 2, causal: true}}], "
    "residual: [layer_norm, {dense: {units: 24, activation: gelu_tanh}}, {dense: 8}]], "
    "layer_norm, dense: {units: 11, bias: false, tie: tokens}";

std::string llama(const std::string& output) {
  return "embedding: {units: 8, vocabulary: 11, name: tokens}, "
         "residual: [rms_norm, {attention: {heads: 4, kv_heads: 2, causal: true, rotary: true, rotary_base: "
         "500, "
         "bias: false}}], residual: [rms_norm, {multiply: [[{dense: {units: 12, activation: silu, bias: "
         "false}}], "
         "[{dense: {units: 12, bias: false}}]]}, {dense: {units: 8, bias: false}}], rms_norm, dense: " +
         output;
}

const std::string kStem =
    "{conv: {filters: 8, kernel: 7, stride: 2, pad: 3, bias: false}}, batch_norm, relu, "
    "{max_pool: {size: 3, stride: 2, pad: 1}}, ";
const std::string kBasic =
    kStem +
    "{residual: [{conv: {filters: 8, kernel: 3, pad: same, bias: false}}, batch_norm, relu, "
    "{conv: {filters: 8, kernel: 3, pad: 1, bias: false}}, batch_norm]}, relu, {dropout: 0.2}, "
    "{residual: {body: [{conv: {filters: 12, kernel: 3, stride: 2, pad: 1, bias: false}}, batch_norm, relu, "
    "{conv: {filters: 12, kernel: 3, pad: 1, bias: false}}, batch_norm], "
    "shortcut: [{conv: {filters: 12, kernel: 1, stride: 2, bias: false}}, batch_norm]}}, relu, "
    "{adaptive_avg_pool: 1}, {dense: {units: 5, name: head}}";

/// `first`, `second`: strides of the first two convolutions.
std::string bottleneck(int first, int second) {
  return kStem +
         fmt::format(
             "{{residual: {{body: [{{conv: {{filters: 4, kernel: 1, stride: {}, bias: false}}}}, "
             "batch_norm, relu, {{conv: {{filters: 4, kernel: 3, stride: {}, pad: 1, bias: false}}}}, "
             "batch_norm, relu, {{conv: {{filters: 16, kernel: 1, bias: false}}}}, batch_norm], "
             "shortcut: [{{conv: {{filters: 16, kernel: 1, stride: {}, bias: false}}}}, batch_norm]}}}}, "
             "relu, global_avg_pool, {{dense: 5}}",
             first, second, first * second);
}

/// Layers for images of 20 x 20 pixels.
struct BuiltResNet {
  explicit BuiltResNet(const std::string& layers)
      : harness(layers, {20, 20, 3}, {.rows = 2, .input_gradient = false}),
        form(resnet_form(harness.network().layers(), 3)) {}

  std::vector<NamedTensor> checkpoint() {
    std::vector<NamedTensor> tensors;
    for (const Parameter& parameter : harness.parameters())
      tensors.push_back({parameter.name, file_shape(parameter.layout, parameter.shape),
                         to_file_layout(parameter.layout, parameter.shape, harness.values(parameter))});
    for (const State& state : harness.plan().states()) {
      const std::span<const float> values = harness.values(state);
      tensors.push_back({state.name, state.shape, {values.begin(), values.end()}});
    }
    return tensors;
  }

  LayerHarness harness;
  ResNetForm form;
};

/// Layers for sequences of five tokens.
struct Built {
  explicit Built(const std::string& layers)
      : harness(layers, {5}, {.rows = 1, .input_gradient = false}),
        form(transformer_form(harness.network().layers(), 5)) {}

  std::vector<NamedTensor> checkpoint() {
    std::vector<NamedTensor> tensors;
    for (const Parameter& parameter : harness.parameters())
      tensors.push_back({parameter.name, file_shape(parameter.layout, parameter.shape),
                         to_file_layout(parameter.layout, parameter.shape, harness.values(parameter))});
    return tensors;
  }

  LayerHarness harness;
  TransformerForm form;
};

void write_directory(const std::filesystem::path& folder, const std::string& config,
                     const std::vector<NamedTensor>& tensors) {
  std::vector<NamedView> views;
  views.reserve(tensors.size());
  for (const NamedTensor& tensor : tensors)
    views.push_back({tensor.name, ConstTensor(tensor.values.data(), tensor.shape)});
  write_safetensors(folder / "model.safetensors", views);
  write_file(folder / "config.json", config);
}

const NamedTensor& named(const std::vector<NamedTensor>& tensors, const std::string& name) {
  const auto found = std::ranges::find(tensors, name, &NamedTensor::name);
  REQUIRE(found != tensors.end());
  return *found;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

TransformerSettings parsed(const std::string& text) {
  return parse_transformer_settings(text, "config.json");
}

}  // namespace

TEST_CASE("a network of each form is described by a config.json that reads back as the same",
          "[huggingface]") {
  const std::string layers = GENERATE(std::string(kGpt2), llama("{units: 11, bias: false}"),
                                      llama("{units: 11, bias: false, tie: tokens}"));
  const TransformerSettings settings = Built(layers).form.settings;
  const TransformerSettings again = parsed(config_json(settings));
  CHECK(differences(again, settings).empty());
  CHECK(again.vocabulary == 11);
  CHECK(again.positions == 5);
  CHECK(again.layers == (layers == kGpt2 ? 2 : 1));
  CHECK(again.inner == (layers == kGpt2 ? 24 : 12));
}

TEST_CASE("weights go out under the names of GPT-2 and Llama and come in again", "[huggingface]") {
  const std::string layers = GENERATE(std::string(kGpt2), llama("{units: 11, bias: false}"),
                                      llama("{units: 11, bias: false, tie: tokens}"));
  Built built(layers);
  const std::vector<NamedTensor> checkpoint = built.checkpoint();
  const std::vector<NamedTensor> there = huggingface_tensors(built.form, checkpoint);
  if (layers == kGpt2) {
    // Conv1D keeps (inputs, outputs).
    const NamedTensor& inner = named(there, "transformer.h.1.mlp.c_fc.weight");
    CHECK(inner.shape == Shape{8, 24});
    CHECK(inner.values[1] == named(checkpoint, "dense3.weight").values[8]);
    CHECK(there.size() == 2 + 2 * 12 + 2);
  } else {
    const NamedTensor& own = named(checkpoint, "attention1.in_proj_weight");
    CHECK(named(there, "model.layers.0.self_attn.q_proj.weight").shape == Shape{8, 8});
    CHECK(named(there, "model.layers.0.self_attn.v_proj.weight").shape == Shape{4, 8});
    CHECK(named(there, "model.layers.0.self_attn.v_proj.weight").values.back() == own.values.back());
  }
  const TemporaryFolder folder;
  write_directory(folder.path(), config_json(built.form.settings), there);
  const DirectoryWeights again = read_directory_weights(folder.path(), built.harness.network().layers(), {5});
  CHECK(again.tensors.size() == checkpoint.size());
  for (const auto& [there_name, here] : again.names) {
    INFO(here);
    CHECK(named(again.tensors, there_name).shape == named(checkpoint, here).shape);
    CHECK(named(again.tensors, there_name).values == named(checkpoint, here).values);
  }
  CHECK(again.names.size() == checkpoint.size());
}

TEST_CASE("bare names, masks, several files and longer positions are read", "[huggingface]") {
  Built built(kGpt2);
  std::vector<NamedTensor> there = huggingface_tensors(built.form, built.checkpoint());
  for (NamedTensor& tensor : there) tensor.name = replaced(tensor.name, "transformer.", "");
  NamedTensor& positions = *std::ranges::find(there, "wpe.weight", &NamedTensor::name);
  positions.shape = {9, 8};
  positions.values.resize(72, 7);
  there.push_back({"h.0.attn.bias", {1}, {1}});
  there.push_back({"score.weight", {1}, {1}});
  const TemporaryFolder folder;
  write_directory(folder.path(), config_json(built.form.settings), there);
  std::filesystem::rename(folder.path() / "model.safetensors", folder.path() / "model-1.safetensors");
  write_file(folder.path() / "model.safetensors.index.json",
             R"({"weight_map": {"wte.weight": "model-1.safetensors", "wpe.weight": "model-1.safetensors"}})");
  const auto& layers = built.harness.network().layers();
  const DirectoryWeights weights = read_directory_weights(folder.path(), layers, {5});
  CHECK(weights.names.size() == built.form.tensors.size());
  CHECK(weights.tensors.size() == weights.names.size() + 1);  // score.weight is nothing's
  CHECK(named(weights.tensors, "wpe.weight").shape == Shape{5, 8});

  write_file(folder.path() / "model.safetensors.index.json", R"({"weight_map": {"a": "../secret"}})");
  CHECK_THROWS_WITH(read_directory_weights(folder.path(), layers, {5}), Catch::Contains("elsewhere"));
  write_file(folder.path() / "model.safetensors.index.json", "{\"weight_map\": 3}");
  CHECK_THROWS_AS(read_directory_weights(folder.path(), layers, {5}), Error);
}

TEST_CASE("a directory of another network is an error that names the settings", "[huggingface]") {
  Built built(llama("{units: 11, bias: false}"));
  const TemporaryFolder folder;
  const auto& layers = built.harness.network().layers();
  CHECK_THROWS_WITH(read_directory_weights(folder.path(), layers, {5}), Catch::Contains("no config.json"));
  TransformerSettings other = built.form.settings;
  other.heads = 2;
  other.rotary_base = 10000;
  write_file(folder.path() / "config.json", config_json(other));
  CHECK_THROWS_WITH(read_directory_weights(folder.path(), layers, {5}),
                    Catch::Contains("num_attention_heads is 2, here 4") &&
                        Catch::Contains("rope_theta is 10000, here 500"));
  write_file(folder.path() / "config.json", config_json(built.form.settings));
  CHECK_THROWS_WITH(read_directory_weights(folder.path(), layers, {5}),
                    Catch::Contains("no model.safetensors"));
  write_file(folder.path() / "config.json", config_json(Built(kGpt2).form.settings));
  CHECK_THROWS_WITH(read_directory_weights(folder.path(), layers, {5}),
                    Catch::Contains("it is of GPT-2's form, the network of Llama's"));
}

TEST_CASE("a layer that neither family has is named", "[huggingface]") {
  const auto form_of = [](const std::string& layers) { return Built(layers).form; };
  CHECK_THROWS_WITH(form_of(replaced(kGpt2, "causal: true", "causal: false")),
                    Catch::Contains("attention1") && Catch::Contains("`causal: true`"));
  CHECK_THROWS_WITH(form_of(replaced(kGpt2, "activation: gelu_tanh", "activation: tanh")),
                    Catch::Contains("dense1") && Catch::Contains("`activation: tanh`"));
  CHECK_THROWS_WITH(form_of(replaced(kGpt2, "expand: 3", "expand: 2")), Catch::Contains("`units` differs"));
  CHECK_THROWS_WITH(form_of(replaced(kGpt2, "positions: learned", "positions: sinusoidal")),
                    Catch::Contains("tokens") && Catch::Contains("`positions: learned`"));
  CHECK_THROWS_WITH(form_of(replaced(kGpt2, "layer_norm, dense", "rms_norm, dense")),
                    Catch::Contains("tokens") && Catch::Contains("Llama"));
  CHECK_THROWS_WITH(form_of("embedding: {units: 8, vocabulary: 11}, dense: 11"), Catch::Contains("2 layers"));
  CHECK_THROWS_WITH(
      form_of(replaced(llama("{units: 11, bias: false}"), "activation: silu", "activation: elu")),
      Catch::Contains("dense1"));
  CHECK_THROWS_WITH(form_of(llama("{units: 9, bias: false}")),
                    Catch::Contains("its units are not the tokens"));
}

TEST_CASE("a config.json that layers here do not compute is an error that names the key", "[huggingface]") {
  const std::string good =
      R"({"model_type": "llama", "num_hidden_layers": 1, "hidden_size": 8, "num_attention_heads": 4,
          "intermediate_size": 12, "vocab_size": 11, "max_position_embeddings": 64})";
  CHECK(parsed(good).key_heads == 4);
  CHECK(parsed(good).epsilon == 1e-6);
  CHECK(parsed(replaced(good, "{", R"({"rope_parameters": {"rope_theta": 7e5}, )")).rotary_base == 7e5);
  const auto fails = [&](const std::string& more, const std::string& what) {
    INFO(more);
    CHECK_THROWS_WITH(parsed(replaced(good, "{", "{" + more + ", ")), Catch::Contains(what));
  };
  fails(R"("rope_scaling": {"rope_type": "llama3"})", "llama3");
  fails(R"("attention_bias": true)", "attention_bias is true");
  fails(R"("head_dim": 4)", "head_dim");
  fails(R"("num_key_value_heads": 3)", "do not divide");
  fails(R"("hidden_act": "mish")", "mish");
  fails(R"("rms_norm_eps": "x")", "rms_norm_eps is not a number");
  fails(R"("rope_scaling": 3)", "rope_scaling is not a map");
  CHECK_THROWS_WITH(parsed(replaced(good, "\"llama\"", "\"bert\"")), Catch::Contains("bert"));
  CHECK_THROWS_WITH(parsed(replaced(good, "\"vocab_size\": 11", "\"vocab_size\": -1")),
                    Catch::Contains("vocab_size"));
  for (const char* const text : {"", "[]", "{", "null", "{}", "\xff"}) CHECK_THROWS_AS(parsed(text), Error);
}

TEST_CASE("a ResNet goes out under Hugging Face's names and comes in again", "[huggingface]") {
  const std::string layers =
      GENERATE(std::string(kBasic), bottleneck(1, 2), bottleneck(2, 1), bottleneck(1, 1));
  BuiltResNet built(layers);
  const ResNetSettings& settings = built.form.settings;
  const bool is_basic = layers == kBasic;
  CHECK(settings.channels == 3);
  CHECK(settings.stem == 8);
  CHECK(settings.is_bottleneck != is_basic);
  CHECK(settings.widths == (is_basic ? std::vector<std::int64_t>{8, 12} : std::vector<std::int64_t>{16}));
  CHECK(settings.depths == std::vector<std::int64_t>(is_basic ? 2 : 1, 1));
  CHECK(settings.strides_first_stage == (layers == bottleneck(1, 2) || layers == bottleneck(2, 1)));
  CHECK(settings.strides_first_conv == (layers == bottleneck(2, 1)));

  // Statistics other than those that all begin with.
  built.harness.forward(std::vector<float>(2 * 20 * 20 * 3, 0.5f));
  const std::vector<NamedTensor> checkpoint = built.checkpoint();
  const std::vector<NamedTensor> there = huggingface_tensors(built.form, checkpoint);
  CHECK(there.size() == checkpoint.size());
  CHECK(named(there, "resnet.embedder.embedder.convolution.weight").shape == Shape{8, 3, 7, 7});
  CHECK(named(there, "classifier.1.bias").shape == Shape{5});
  if (is_basic) {
    CHECK(named(there, "resnet.encoder.stages.1.layers.0.layer.1.normalization.running_mean").values ==
          named(checkpoint, "batch_norm5.running_mean").values);
    CHECK(named(there, "resnet.encoder.stages.1.layers.0.shortcut.convolution.weight").shape ==
          Shape{12, 8, 1, 1});
  }
  const TemporaryFolder folder;
  write_directory(folder.path(), config_json(settings, {"a", "b"}, Link::softmax), there);
  const DirectoryWeights again =
      read_directory_weights(folder.path(), built.harness.network().layers(), {20, 20, 3});
  CHECK(again.names.size() == checkpoint.size());
  for (const auto& [there_name, here] : again.names) {
    INFO(here);
    CHECK(named(again.tensors, there_name).shape == named(checkpoint, here).shape);
    CHECK(named(again.tensors, there_name).values == named(checkpoint, here).values);
  }
}

TEST_CASE("a layer that no ResNet of Hugging Face has is named", "[huggingface]") {
  const auto fails = [](const std::string& layers, const std::string& layer, const std::string& what) {
    INFO(layers);
    CHECK_THROWS_WITH(BuiltResNet(layers),
                      Catch::StartsWith("error: " + layer + " is in no ResNet") && Catch::Contains(what));
  };
  fails(replaced(kBasic, "kernel: 7, stride: 2, pad: 3", "kernel: 5, stride: 2, pad: 2"), "conv1",
        "its `kernel` is 5x5, expected is 7x7");
  fails(replaced(kBasic, "bias: false", "bias: true"), "conv1", "`bias: false`");
  fails(replaced(kBasic, "bias: false", "bias: false, activation: relu"), "conv1", "`activation`");
  fails(replaced(kBasic, "batch_norm, relu", "batch_norm: {epsilon: 0.01}, relu"), "batch_norm1", "1e-05");
  fails(replaced(kBasic, "batch_norm, relu", "batch_norm, silu"), "silu1", "`relu` is expected");
  fails(replaced(kBasic, "size: 3", "size: 2"), "max_pool1", "its `size` is 2x2");
  fails(replaced(kBasic, ", stride: 2, pad: 1}}, {res", ", pad: 1}}, {res"), "max_pool1", "`stride: 2`");
  fails(replaced(kBasic, "pad: same, bias", "pad: same, groups: 2, bias"), "conv2", "`groups`");
  fails(replaced(kBasic, "batch_norm]}, relu", "batch_norm, relu]}, relu"), "residual1", "6 layers");
  fails(replaced(kBasic, "batch_norm]}, relu", "batch_norm], shortcut: conv}}, relu")
            .replace(kStem.size(), 11, "{residual: {body: "),
        "residual1", "shortcut computes something");
  fails(replaced(replaced(kBasic, "kernel: 3, stride: 2", "kernel: 3"), "kernel: 1, stride: 2", "kernel: 1"),
        "residual2", "begins with stride 2");
  fails(replaced(kBasic, "shortcut: [{conv: {filters: 12, kernel: 1, stride: 2, bias: false}}, batch_norm]",
                 "shortcut: pad"),
        "residual2", "a shortcut of `conv` and `batch_norm`");
  fails(replaced(kBasic, "{adaptive_avg_pool: 1}", "{adaptive_avg_pool: 2}"), "adaptive_avg_pool1", "2x2");
  fails(replaced(kBasic, "{adaptive_avg_pool: 1}", "flatten"), "flatten1", "`global_avg_pool`");
  fails(replaced(kBasic, "units: 5", "units: 5, bias: false"), "head", "`bias: true`");
  fails(kBasic + ", softmax", "softmax1", "to be the last one");
  fails(replaced(bottleneck(1, 1), "filters: 4", "filters: 8"), "conv2", "`filters` are 8, expected are 4");
  fails(bottleneck(2, 2), "conv3", "its `stride` is 2x2, expected is 1x1");
  fails(bottleneck(1, 3), "residual1", "its stride is 3");
  CHECK_THROWS_WITH(BuiltResNet(kStem + "relu"), Catch::Contains("`residual` is expected"));
  CHECK_THROWS_WITH(BuiltResNet(kStem.substr(0, kStem.size() - 2)), Catch::Contains("the network ends"));
}

TEST_CASE("a directory of another ResNet is an error that names the key", "[huggingface]") {
  BuiltResNet built(kBasic);
  const TemporaryFolder folder;
  const auto read = [&] {
    return read_directory_weights(folder.path(), built.harness.network().layers(), {20, 20, 3});
  };
  ResNetSettings other = built.form.settings;
  other.is_bottleneck = true;
  other.depths.front() = 3;
  write_file(folder.path() / "config.json", config_json(other, {}, Link::identity));
  CHECK_THROWS_WITH(read(), Catch::Contains("depths is [3, 1], here [1, 1]") &&
                                Catch::Contains("layer_type is bottleneck, here basic"));
  const auto fails = [&](const std::string& keys, const std::string& what) {
    write_file(folder.path() / "config.json", "{\"model_type\": \"resnet\", " + keys + "}");
    CHECK_THROWS_WITH(read(), Catch::Contains(what));
  };
  fails(R"("num_channels": 3)", "hidden_sizes is [256, 512, 1024, 2048], here [8, 12]");
  fails(R"("hidden_act": "silu")", "a ResNet here has `relu`");
  fails(R"("layer_type": "wide")", "wide");
  fails(R"("depths": [1, 2])", "hidden_sizes has 4 items, depths has 2");
  fails(R"("depths": 3)", "depths is not a list");
  fails(R"("depths": [1, "2"])", "an item of depths is not a whole number");
  write_file(folder.path() / "config.json", config_json(Built(kGpt2).form.settings));
  CHECK_THROWS_WITH(read(), Catch::Contains("gpt2"));
}

TEST_CASE("GGUF has the tensors of the network under llama.cpp's names", "[huggingface]") {
  const std::string layers = GENERATE(std::string(kGpt2), llama("{units: 11, bias: false}"));
  Built built(layers);
  const std::vector<NamedTensor> checkpoint = built.checkpoint();
  const auto tokenizer = character_tokenizer("abc\u00e4defghij", "text");
  const GgufFile file = gguf_file(built.form, tokenizer.get(), checkpoint, "a run");
  CHECK(file.note.empty());
  CHECK(file.head.starts_with(std::string("GGUF\3\0\0\0", 8)));
  CHECK(file.head.size() % kGgufAlignment == 0);
  CHECK(file.head.find("rwkv") != std::string::npos);
  CHECK(file.head.find("\\xc3\\xa4") != std::string::npos);
  for (const NamedTensor& tensor : file.tensors) CHECK(file.head.find(tensor.name) != std::string::npos);
  CHECK(named(file.tensors, "token_embd.weight").values == named(checkpoint, "tokens.weight").values);
  if (layers == kGpt2) {
    // (outputs, inputs), as the checkpoint has it.
    CHECK(named(file.tensors, "blk.1.ffn_up.weight").shape == Shape{24, 8});
    CHECK(named(file.tensors, "blk.1.ffn_up.weight").values == named(checkpoint, "dense3.weight").values);
    CHECK(file.tensors.size() == 2 + 2 * 12 + 2);
  } else {
    CHECK(named(file.tensors, "blk.0.attn_k.weight").shape == Shape{4, 8});
    CHECK(named(file.tensors, "output.weight").values == named(checkpoint, "dense4.weight").values);
  }
}

TEST_CASE("rows of queries and keys lie in pairs in GGUF", "[huggingface]") {
  std::string one_head = replaced(llama("{units: 11, bias: false}"), "heads: 4", "heads: 2");
  Built built(replaced(one_head, "kv_heads: 2", "kv_heads: 1"));
  const std::vector<NamedTensor> checkpoint = built.checkpoint();
  const auto tokenizer = byte_tokenizer();
  const GgufFile file = gguf_file(built.form, tokenizer.get(), checkpoint, "a run");
  const auto row = [](const NamedTensor& tensor, std::int64_t index) {
    return std::vector<float>(tensor.values.begin() + index * 8, tensor.values.begin() + (index + 1) * 8);
  };
  const NamedTensor &own = named(checkpoint, "attention1.in_proj_weight"),
                    &queries = named(file.tensors, "blk.0.attn_q.weight"),
                    &keys = named(file.tensors, "blk.0.attn_k.weight");
  // Of heads of four features: 0, 2, 1, 3.
  for (const std::int64_t head : {0, 4}) {
    CHECK(row(queries, head + 1) == row(own, head + 2));
    CHECK(row(queries, head + 2) == row(own, head + 1));
    CHECK(row(queries, head + 3) == row(own, head + 3));
  }
  CHECK(row(keys, 2) == row(own, 8 + 1));
  CHECK(named(file.tensors, "blk.0.attn_v.weight").values.back() == own.values.back());
}

TEST_CASE("what llama.cpp does not have is an error or a note", "[huggingface]") {
  const auto tokenizer = byte_pair_tokenizer("a b\n", "merges");
  const auto file_of = [&](const std::string& layers, const Tokenizer* tokens) {
    Built built(layers);
    return gguf_file(built.form, tokens, built.checkpoint(), "a run");
  };
  const auto with = [](const std::string& activation) {
    const std::string own = "activation: gelu_tanh";
    return replaced(replaced(kGpt2, own, "activation: " + activation), own, "activation: " + activation);
  };
  CHECK(file_of(kGpt2, tokenizer.get()).note.empty());
  CHECK_THAT(file_of(with("gelu"), tokenizer.get()).note, Catch::Contains("0.0005"));
  CHECK_THROWS_WITH(file_of(with("relu"), tokenizer.get()), Catch::Contains("this network has `relu`"));
  CHECK_THROWS_WITH(file_of(kGpt2, nullptr), Catch::Contains("tokenizer"));
}

}  // namespace trainer
