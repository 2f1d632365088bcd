// A config.json of Hugging Face, behind an `r` that of a ResNet; behind an `i` the index of the files of
// weights of a directory; behind an `s` its only file of weights.
#include "engine/config/config_tree.h"
#include "models/huggingface/directory.h"
#include "models/network/network.h"
#include "tests/fuzz/memory_file.h"
#include "tests/fuzz/target.h"

namespace trainer {
namespace {

constexpr std::int64_t kPositions = 2;

FuzzInput bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

const Network& network() {
  static const std::vector<ConfigTree> kTrees = [] {
    std::vector<ConfigTree> trees;
    for (const char* const layer :
         {"embedding: {units: 2, vocabulary: 3, positions: learned, name: tokens}",
          "residual: [layer_norm, {attention: {heads: 1, causal: true}}]",
          "residual: [layer_norm, {dense: {units: 4, activation: gelu_tanh}}, {dense: 2}]", "layer_norm",
          "dense: {units: 3, bias: false, tie: tokens}"})
      trees.push_back(ConfigTree::member("layer", layer));
    return trees;
  }();
  static const std::vector<Config> kLayers = [] {
    std::vector<Config> layers;
    for (const ConfigTree& tree : kTrees) layers.push_back(tree.root());
    return layers;
  }();
  static const Network kNetwork(kLayers, Shape{kPositions}, {.batch = 1});
  return kNetwork;
}

/// A directory for this network, whose last file is the input.
class Directory {
 public:
  explicit Directory(std::vector<std::string> files) : last_(files.size() - 1), folder_(files) {
    const std::string config = config_json(transformer_form(network().layers(), kPositions).settings);
    folder_.hold(0, bytes_of(config));
    const std::string header = R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})";
    if (last_ > 1) folder_.hold(1, bytes_of(std::string("\x36\0\0\0\0\0\0\0", 8) + header + "...."));
  }
  void read(FuzzInput input) {
    folder_.hold(last_, input);
    for (const NamedTensor& tensor :
         read_directory_weights(folder_.path(), network().layers(), {kPositions}).tensors)
      expect(std::ssize(tensor.values) == tensor.shape.size(), "a tensor has another size than its shape");
  }

 private:
  std::size_t last_;
  MemoryFolder folder_;
};

void read_resnet(std::string_view text) {
  const ResNetSettings settings = parse_resnet_settings(text, "config.json");
  const std::string written = config_json(settings, {"a"}, Link::softmax);
  expect(differences(parse_resnet_settings(written, "config.json"), settings).empty(),
         "a config.json does not read back");
}

const FuzzTarget target{
    "transformer", [](FuzzInput input) {
      static Directory whole({"config.json", "model.safetensors"}),
          parts({"config.json", "a", "model.safetensors.index.json"});
      if (!input.empty() && input[0] == 's') return whole.read(input.subspan(1));
      if (!input.empty() && input[0] == 'i') return parts.read(input.subspan(1));
      if (!input.empty() && input[0] == 'r') return read_resnet(text_of(input.subspan(1)));
      const TransformerSettings settings = parse_transformer_settings(text_of(input), "config.json");
      const TransformerSettings again = parse_transformer_settings(config_json(settings), "config.json");
      expect(differences(again, settings).empty(), "a config.json does not read back");
    }};

}  // namespace
}  // namespace trainer
