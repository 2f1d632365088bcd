#include "models/huggingface/resnet_settings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "engine/config/source.h"
#include "models/huggingface/config_reader.h"

namespace trainer {
namespace {

using Json = nlohmann::ordered_json;

const char* layer_type(const ResNetSettings& settings) {
  return settings.is_bottleneck ? "bottleneck" : "basic";
}

}  // namespace

ResNetSettings parse_resnet_settings(std::string_view text, const std::string& place) {
  const Json json = parse_config(text, place);
  const ConfigReader config(json, place);
  config.type({"resnet"});
  ResNetSettings settings{.channels = config.count("num_channels", 3),
                          .stem = config.count("embedding_size", 64),
                          .widths = config.counts("hidden_sizes", {256, 512, 1024, 2048}),
                          .depths = config.counts("depths", {3, 4, 6, 3}),
                          .strides_first_stage = config.truth("downsample_in_first_stage", false)};
  const std::string type = config.text("layer_type", "bottleneck"),
                    activation = config.text("hidden_act", "relu");
  if (type != "bottleneck" && type != "basic")
    config.fail("layer_type is " + in_quotes(type) + ", which is not known here");
  if (activation != "relu")
    config.fail("hidden_act is " + in_quotes(activation) + ": a ResNet here has `relu`");
  settings.is_bottleneck = type == "bottleneck";
  if (settings.widths.size() != settings.depths.size())
    config.fail(fmt::format("hidden_sizes has {} items, depths has {}", settings.widths.size(),
                            settings.depths.size()));
  const bool has_strides = settings.strides_first_stage || settings.depths.size() > 1;
  settings.strides_first_conv =
      config.truth("downsample_in_bottleneck", false) && settings.is_bottleneck && has_strides;
  return settings;
}

std::string config_json(const ResNetSettings& settings, const std::vector<std::string>& outputs, Link link) {
  Json json{{"architectures", Json::array({"ResNetForImageClassification"})},
            {"model_type", "resnet"},
            {"num_channels", settings.channels},
            {"embedding_size", settings.stem},
            {"hidden_sizes", settings.widths},
            {"depths", settings.depths},
            {"layer_type", layer_type(settings)},
            {"hidden_act", "relu"},
            {"downsample_in_first_stage", settings.strides_first_stage},
            {"downsample_in_bottleneck", settings.strides_first_conv}};
  if (link != Link::identity)
    json["problem_type"] =
        link == Link::softmax ? "single_label_classification" : "multi_label_classification";
  for (std::size_t i = 0; i < outputs.size(); ++i) json["id2label"][std::to_string(i)] = outputs[i];
  for (std::size_t i = 0; i < outputs.size(); ++i) json["label2id"][outputs[i]] = i;
  json["torch_dtype"] = "float32";
  // A name may be that of a folder, which is in any encoding.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::vector<std::string> differences(const ResNetSettings& file, const ResNetSettings& here) {
  std::vector<std::string> notes;
  const auto compare = [&](const char* name, const auto& there, const auto& own) {
    if (there != own) notes.push_back(fmt::format("{} is {}, here {}", name, there, own));
  };
  compare("num_channels", file.channels, here.channels);
  compare("embedding_size", file.stem, here.stem);
  compare("hidden_sizes", file.widths, here.widths);
  compare("depths", file.depths, here.depths);
  compare("layer_type", std::string(layer_type(file)), std::string(layer_type(here)));
  compare("downsample_in_first_stage", file.strides_first_stage, here.strides_first_stage);
  compare("downsample_in_bottleneck", file.strides_first_conv, here.strides_first_conv);
  return notes;
}

std::string preprocessor_json(const ImageForm& form) {
  constexpr int kBilinear = 2;
  const auto shortest = std::llround(static_cast<double>(form.size) / form.crop);
  Json json{{"image_processor_type", "BitImageProcessor"},
            {"do_convert_rgb", form.channels == 3},
            {"do_resize", true},
            {"size", {{"shortest_edge", shortest}}},
            {"resample", kBilinear},
            {"do_center_crop", true},
            {"crop_size", {{"height", form.size}, {"width", form.size}}},
            {"do_rescale", true},
            {"rescale_factor", 1.0 / 255},
            {"do_normalize", !form.mean.empty()}};
  if (!form.mean.empty()) {
    json["image_mean"] = form.mean;
    json["image_std"] = form.deviation;
  }
  return json.dump(2) + "\n";
}

}  // namespace trainer
