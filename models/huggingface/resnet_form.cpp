#include "models/huggingface/resnet_form.h"

#include <fmt/format.h>

#include <string_view>

#include "models/layers/conv.h"

namespace trainer {
namespace {

using Entry = Sequence::Entry;
using Layers = std::vector<const Entry*>;

constexpr const char* kResNetHelp =
    "docs/export.md describes the form; `trainer export RUN onnx` takes other networks";
constexpr double kNormEpsilon = 1e-5;  // of all norms: config.json has no key for it

[[noreturn]] void fail(const Entry& entry, const std::string& what) {
  throw Error(ExitCode::usage, fmt::format("{} is in no ResNet of Hugging Face: {}", entry.name, what),
              kResNetHelp);
}

void require_type(const Entry& entry, std::string_view type) {
  if (entry.type != type) fail(entry, fmt::format("`{}` is expected in its place", type));
}

void require_extents(const Entry& entry, const char* key, std::int64_t expected) {
  const ConvSettings::Extents found = extents_of(*entry.config, key);
  if (found.h != expected || found.w != expected)
    fail(entry,
         fmt::format("its `{}` is {}x{}, expected is {}x{}", key, found.h, found.w, expected, expected));
}

void require_no_activation(const Entry& entry) {
  if (entry.config->get<std::string>("activation") != "none") fail(entry, "it has an `activation`");
}

std::int64_t filters_of(const Entry& conv) { return conv.config->get<std::int64_t>("filters"); }

class ResNetReader {
 public:
  ResNetReader(const Sequence& sequence, std::int64_t channels)
      : layers_(computing_layers(sequence)), channels_(channels) {
    form_.settings = {.channels = channels};
  }

  ResNetForm read();

 private:
  const Entry& next(std::string_view type);
  bool next_is(std::string_view type) const { return next_ < layers_.size() && layers_[next_]->type == type; }
  void match(const Entry& entry, const char* tensor, const std::string& there) {
    form_.tensors.push_back({entry.name + "." + tensor, {there + "." + tensor}});
  }

  /// A convolution and its norm.
  void read_conv(const Entry& conv, const Entry& norm, const std::string& there, std::int64_t kernel,
                 std::int64_t stride, std::int64_t filters);
  void read_residual(const Entry& entry);
  /// Of a residual's body; also gives the first of a network its kind.
  Layers body_of(const Entry& entry);
  /// Its stride, which is in one convolution for all residuals of a network.
  std::int64_t stride_of(const Entry& entry, const Layers& body);
  void read_shortcut(const Entry& entry, const std::string& there, std::int64_t stride, std::int64_t width);
  void read_output();

  Layers layers_;
  std::size_t next_ = 0;
  std::int64_t channels_;  ///< of the layers read so far
  bool has_stride_ = false;
  ResNetForm form_;
};

const Entry& ResNetReader::next(std::string_view type) {
  if (next_ == layers_.size())
    throw Error(ExitCode::usage, fmt::format("the network ends where a ResNet has `{}`", type), kResNetHelp);
  require_type(*layers_[next_], type);
  return *layers_[next_++];
}

void ResNetReader::read_conv(const Entry& conv, const Entry& norm, const std::string& there,
                             std::int64_t kernel, std::int64_t stride, std::int64_t filters) {
  require_type(conv, "conv");
  require_type(norm, "batch_norm");
  require_extents(conv, "kernel", kernel);
  require_extents(conv, "stride", stride);
  require_extents(conv, "dilation", 1);
  if (!conv.config->is_word("pad", "same")) require_extents(conv, "pad", kernel / 2);
  if (filters_of(conv) != filters)
    fail(conv, fmt::format("its `filters` are {}, expected are {}", filters_of(conv), filters));
  if (conv.config->get<std::int64_t>("groups") != 1) fail(conv, "it has `groups`");
  if (conv.config->get<bool>("bias")) fail(conv, "`bias: false` is expected");
  require_no_activation(conv);
  if (const auto epsilon = norm.config->get<double>("epsilon"); epsilon != kNormEpsilon)
    fail(norm, fmt::format("its `epsilon` is {}, expected is {}", epsilon, kNormEpsilon));
  match(conv, "weight", there + ".convolution");
  for (const char* const tensor : {"weight", "bias", "running_mean", "running_var"})
    match(norm, tensor, there + ".normalization");
}

Layers ResNetReader::body_of(const Entry& entry) {
  constexpr std::size_t kBasic = 5, kBottleneck = 8;
  const Layers body = computing_layers(*inner_sequences(entry).front());
  if (body.size() != kBasic && body.size() != kBottleneck)
    fail(entry, fmt::format("its body has {} layers; two convolutions are {}, three are {}, with norms and "
                            "`relu` between them",
                            body.size(), kBasic, kBottleneck));
  const bool is_bottleneck = body.size() == kBottleneck;
  if (form_.settings.depths.empty()) form_.settings.is_bottleneck = is_bottleneck;
  if (form_.settings.is_bottleneck != is_bottleneck)
    fail(entry, "its body has another number of layers than that of the first residual");
  for (std::size_t i = 0; i < body.size(); ++i)
    require_type(*body[i], i % 3 == 0 ? "conv" : i % 3 == 1 ? "batch_norm" : "relu");
  return body;
}

std::int64_t ResNetReader::stride_of(const Entry& entry, const Layers& body) {
  ResNetSettings& settings = form_.settings;
  const auto stride_at = [&](std::size_t conv) { return extents_of(*body[3 * conv]->config, "stride").h; };
  const std::int64_t first = stride_at(0),
                     stride = settings.is_bottleneck && first == 1 ? stride_at(1) : first;
  if (stride == 1) return stride;
  if (stride != 2) fail(entry, fmt::format("its stride is {}, expected is 1 or 2", stride));
  const bool is_first_conv = settings.is_bottleneck && first != 1;
  if (!has_stride_) settings.strides_first_conv = is_first_conv;
  if (settings.strides_first_conv != is_first_conv)
    fail(entry, "its stride is in another convolution than that of earlier residuals");
  has_stride_ = true;
  return stride;
}

void ResNetReader::read_shortcut(const Entry& entry, const std::string& there, std::int64_t stride,
                                 std::int64_t width) {
  constexpr std::int64_t kKernel = 1;
  const std::vector<Sequence*> sequences = inner_sequences(entry);
  const Layers shortcut = sequences.size() > 1 ? computing_layers(*sequences[1]) : Layers();
  const Config setting = entry.config->at("shortcut");
  const bool is_convolution = setting.type() != "layers" && setting.value<std::string>() == "conv";
  if (stride == 1 && width == channels_) {
    if (!shortcut.empty() || is_convolution)
      fail(entry, "its shortcut computes something, although its body keeps the shape");
    return;
  }
  if (shortcut.size() != 2)
    fail(entry, "its body changes the shape, so a shortcut of `conv` and `batch_norm` is expected");
  read_conv(*shortcut[0], *shortcut[1], there + "shortcut", kKernel, stride, width);
}

void ResNetReader::read_residual(const Entry& entry) {
  ResNetSettings& settings = form_.settings;
  const Layers body = body_of(entry);
  const std::int64_t stride = stride_of(entry, body), width = filters_of(*body[body.size() - 2]);
  if (settings.depths.empty()) settings.strides_first_stage = stride == 2;
  if (settings.depths.empty() || stride == 2) {
    settings.depths.push_back(0);
    settings.widths.push_back(width);
  }
  if (width != settings.widths.back())
    fail(entry, fmt::format("it gives {} channels and the one before {}: a stage with other channels begins "
                            "with stride 2",
                            width, settings.widths.back()));
  const std::string there = fmt::format("resnet.encoder.stages.{}.layers.{}.", settings.depths.size() - 1,
                                        settings.depths.back()++);
  const auto read = [&](std::size_t index, std::int64_t kernel, std::int64_t conv_stride,
                        std::int64_t filters) {
    read_conv(*body[3 * index], *body[3 * index + 1], fmt::format("{}layer.{}", there, index), kernel,
              conv_stride, filters);
  };
  if (settings.is_bottleneck) {
    const std::int64_t narrow = width / 4;
    read(0, 1, settings.strides_first_conv ? stride : 1, narrow);
    read(1, 3, settings.strides_first_conv ? 1 : stride, narrow);
    read(2, 1, 1, width);
  } else {
    read(0, 3, stride, width);
    read(1, 3, 1, width);
  }
  read_shortcut(entry, there, stride, width);
  channels_ = width;
  next("relu");
}

void ResNetReader::read_output() {
  if (next_is("adaptive_avg_pool"))
    require_extents(next("adaptive_avg_pool"), "size", 1);
  else
    next("global_avg_pool");
  if (next_is("flatten")) next("flatten");
  const Entry& output = next("dense");
  if (!output.config->get<bool>("bias")) fail(output, "`bias: true` is expected");
  require_no_activation(output);
  if (output.config->has("tie")) fail(output, "it shares a weight");
  if (next_ < layers_.size()) fail(*layers_[next_], "the dense layer is expected to be the last one");
  for (const char* const tensor : {"weight", "bias"}) match(output, tensor, "classifier.1");
}

ResNetForm ResNetReader::read() {
  const Entry &conv = next("conv"), &norm = next("batch_norm");
  form_.settings.stem = filters_of(conv);
  read_conv(conv, norm, "resnet.embedder.embedder", 7, 2, form_.settings.stem);
  next("relu");
  const Entry& pool = next("max_pool");
  require_extents(pool, "size", 3);
  if (!pool.config->has("stride")) fail(pool, "`stride: 2` is expected");
  require_extents(pool, "stride", 2);
  require_extents(pool, "pad", 1);
  channels_ = form_.settings.stem;
  do read_residual(next("residual"));
  while (next_is("residual"));
  read_output();
  return std::move(form_);
}

}  // namespace

ResNetForm resnet_form(const Sequence& layers, std::int64_t channels) {
  return ResNetReader(layers, channels).read();
}

}  // namespace trainer
