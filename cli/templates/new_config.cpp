#include "cli/templates/new_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "cli/templates/data_section.h"
#include "cli/terminal/text.h"
#include "datasets/loading/data.h"
#include "engine/config/config_tree.h"
#include "engine/core/error.h"
#include "engine/core/escape.h"

namespace trainer {
namespace {

/// What the data decide.
struct Facts {
  std::string text;  ///< "120 train, 30 validation samples, 4 columns, 3 classes: a, b, c"
  Shape sample;
  std::int64_t samples = 0;
  bool has_numbers = false;

  bool is_map() const { return sample.rank() == 3; }
  std::int64_t side() const { return std::min(sample[0], sample[1]); }
};

Facts facts_of(const DataSection& section) {
  const ConfigTree tree({.file = "the new config", .text = section.yaml, .overrides = {}},
                        {trainer::section("data", "the data", data_settings())});
  const Data data = open_data(tree.root().at("data"), 1);
  const DatasetInfo& info = data.train->info();
  Facts facts{.text = "", .sample = info.sample, .samples = info.size, .has_numbers = section.has_numbers};
  if (!data.notice.empty()) {
    facts.text = data.notice;
    return facts;
  }
  facts.text = grouped(info.size) + " train";
  if (data.validation) facts.text += ", " + grouped(data.validation->size()) + " validation";
  if (data.test) facts.text += ", " + grouped(data.test->size()) + " test";
  if (info.vocabulary > 0)
    facts.text += " sequences of " + counted(info.vocabulary, "different token");
  else if (info.classes > 0)
    facts.text += ", " + counted(info.classes, "class", "es");
  constexpr std::size_t kNames = 8, kWidth = 30;
  for (std::size_t i = 0; i < std::min(info.class_names.size(), kNames); ++i)
    facts.text += (i == 0 ? ": " : ", ") + escaped(shortened(info.class_names[i], kWidth));
  if (info.class_names.size() > kNames) facts.text += ", ...";
  return facts;
}

std::string last_layer(const Facts& facts) {
  return facts.has_numbers
             ? commented("    - dense: 1", "the number")
             : commented("    - dense: $classes", "an output for each class, which the data gives");
}

std::string loss(const Facts& facts) {
  return facts.has_numbers ? "  loss: mse\n" : "  loss: softmax_cross_entropy\n";
}

std::string perceptron(const Facts& facts) {
  const bool is_wide = facts.sample.size() > 200;
  return "model:\n" + commented("  layers:", "the shape of the input comes from the data") +
         fmt::format("    - dense: {{units: {}, activation: relu}}\n", is_wide ? 128 : 64) +
         commented("    - dropout: 0.1", "more of it if the test loss rises again") +
         fmt::format("    - dense: {{units: {}, activation: relu}}\n", 64) + last_layer(facts) + loss(facts);
}

std::string convnet(const Facts& facts) {
  std::string yaml = "blocks:\n" + commented("  stage:", "halves height and width") +
                     "    args: {filters: ~}\n"
                     "    layers:\n"
                     "      - conv: {filters: $filters, kernel: 3, pad: same, bias: false}\n"
                     "      - batch_norm\n"
                     "      - relu\n"
                     "      - max_pool: 2\n"
                     "model:\n" +
                     commented("  layers:", "the shape of the input comes from the data");
  std::int64_t filters = 16;
  for (std::int64_t side = facts.side(); side >= 8; side /= 2, filters *= 2)
    yaml += fmt::format("    - stage: {{filters: {}}}\n", filters);
  return yaml +
         fmt::format("    - conv: {{filters: {}, kernel: 3, pad: same, activation: relu}}\n", filters) +
         commented("    - global_avg_pool", "a value for each filter") + last_layer(facts) + loss(facts);
}

std::string resnet(const Facts& facts) {
  const bool is_large = facts.side() >= 64;
  std::string yaml =
      "blocks:\n" + commented("  basic:", "two convolutions beside a shortcut (He et al. 2015)") +
      "    args: {filters: ~, stride: 1}\n"
      "    layers:\n"
      "      - residual:\n"
      "          body:\n"
      "            - conv: {filters: $filters, kernel: 3, stride: $stride, pad: same, bias: "
      "false}\n"
      "            - batch_norm\n"
      "            - relu\n"
      "            - conv: {filters: $filters, kernel: 3, pad: same, bias: false}\n"
      "            - batch_norm\n" +
      commented("          shortcut: pad", "zero channels where there are more behind than before") +
      "      - relu\n"
      "model:\n" +
      commented("  layers:", "20 layers; `repeat: 4` in each stage makes 26 of them") +
      fmt::format("    - conv: {{filters: 16, kernel: 3, {}pad: same, bias: false}}\n",
                  is_large ? "stride: 2, " : "") +
      "    - batch_norm\n    - relu\n";
  if (is_large) yaml += "    - max_pool: 2\n";
  return yaml +
         "    - basic: {filters: 16, repeat: 3}\n"
         "    - basic: {filters: 32, stride: 2}\n"
         "    - basic: {filters: 32, repeat: 2}\n"
         "    - basic: {filters: 64, stride: 2}\n"
         "    - basic: {filters: 64, repeat: 2}\n"
         "    - global_avg_pool\n" +
         last_layer(facts) + loss(facts);
}

std::string lstm(const Facts& facts) {
  return "model:\n  layers:\n" + commented("    - embedding: 64", "values that stand for a token") +
         "    - lstm: {units: 128, layers: 2}\n"
         "    - dropout: 0.1\n" +
         commented("    - dense: $vocab", "an output for each token, which the text gives") + loss(facts);
}

std::string gpt(const Facts& facts) {
  return "vars: {width: 128, heads: 4}\n"
         "blocks:\n"
         "  decoder:\n"
         "    layers:\n"
         "      - residual: [layer_norm, {attention: {heads: $heads, causal: true}}]\n"
         "      - residual: [layer_norm, {dense: {expand: 4, activation: gelu}}, {dense: $width}]\n"
         "defaults: {init: {normal: 0.02}}\n"
         "model:\n"
         "  layers:\n"
         "    - embedding: {units: $width, positions: learned, name: tokens}\n" +
         commented("    - decoder: {repeat: 4}", "more of them, and more width, for a larger text") +
         "    - layer_norm\n" +
         commented("    - dense: {units: $vocab, bias: false, tie: tokens}", "the weights of the embedding") +
         loss(facts);
}

std::string training(const std::string& kind, const Facts& facts) {
  const bool is_text = kind == "lstm" || kind == "gpt";
  const auto tenth = static_cast<std::uint64_t>(std::max<std::int64_t>(1, facts.samples / 10));
  const auto batch =
      std::min<std::int64_t>(static_cast<std::int64_t>(std::bit_floor(tenth)), is_text ? 32 : 128);
  const std::int64_t steps = std::max<std::int64_t>(1, (facts.samples + batch - 1) / batch),
                     epochs = std::clamp<std::int64_t>(1500 / steps, 5, 40);
  std::string yaml = "train:\n" +
                     commented(fmt::format("  epochs: {}", epochs), "passes over the training data") +
                     commented(fmt::format("  batch: {}", batch), "samples of an update, over all processes");
  if (kind == "resnet")
    yaml += commented(fmt::format("  optimizer: {{sgd: {{lr: {}, momentum: 0.9, weight_decay: 5.0e-4}}}}",
                                  batch >= 64 ? "0.1" : "0.02"),
                      "`trainer lr-find` shows other rates");
  else if (kind == "gpt")
    yaml += "  optimizer: {adamw: {lr: 2.0e-3, betas: [0.9, 0.99], weight_decay: 0.1}}\n";
  else
    yaml += commented(fmt::format("  optimizer: {{adam: {{lr: {}}}}}", kind == "lstm" ? "3.0e-3" : "1.0e-3"),
                      "`trainer lr-find` shows other rates");
  yaml += commented("  schedule: cosine", "the rate falls to 0 at the end");
  if (kind == "resnet" || kind == "gpt")
    yaml += commented(
        fmt::format("  warmup: {{steps: {}}}", std::clamp<std::int64_t>(epochs * steps / 20, 1, 200)),
        "the rate rises at the start");
  if (is_text) yaml += commented("  clip_norm: 1", "limits the gradient of a bad batch");
  return yaml + (facts.has_numbers
                     ? commented("  metrics: [mae, r2]", "mean error; share of the variance explained")
                 : is_text ? "  metrics: [accuracy, perplexity]\n"
                           : "  metrics: [accuracy]\n");
}

}  // namespace

std::string new_config(const std::string& kind, const std::string& shown) {
  const DataSection section = data_section(kind, shown);
  const Facts facts = facts_of(section);
  const bool takes_maps = kind == "convnet" || kind == "resnet" || kind == "folder";
  if (takes_maps && !facts.is_map())
    throw Error(ExitCode::usage, fmt::format("`trainer new {}` expects images", kind));
  const std::string model = kind == "lstm"     ? lstm(facts)
                            : kind == "gpt"    ? gpt(facts)
                            : kind == "resnet" ? resnet(facts)
                            : takes_maps       ? convnet(facts)
                                               : perceptron(facts);
  return "# " + facts.text +
         "\n# Check: trainer check FILE   train: trainer FILE   all keys: trainer schema --keys\n" +
         section.yaml + model + training(kind, facts);
}

}  // namespace trainer
