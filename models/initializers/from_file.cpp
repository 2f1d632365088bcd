#include <algorithm>
#include <string>

#include "datasets/readers/byte_reader.h"
#include "datasets/readers/npy_array.h"
#include "models/formats/layout.h"
#include "models/formats/safetensors.h"
#include "models/initializers/initializer.h"

namespace trainer {
namespace {

/// Saved weights: the tensors of a layer in a safetensors file, or the array of an npy file.
class FromFile final : public Initializer {
 public:
  explicit FromFile(const Config& config)
      : path_(config.get<std::string>("path")),
        layer_(config.has("layer") ? config.get<std::string>("layer") : "") {
    if (!layer_.empty() && is_npy())
      config.fail("layer", "an npy file holds one array, of no layer", "leave `layer` out");
  }

  void fill(const Parameter& parameter, const RandomStream&, std::span<float> whole) const override {
    const NamedTensor tensor = is_npy() ? read_npy() : read_tensor(name_in_file(parameter));
    const Shape expected = file_shape(parameter.layout, parameter.whole_shape());
    if (tensor.shape != expected)
      fail(parameter.name + " is " + expected.text() + ", the file has " + tensor.shape.text(),
           "the shapes that PyTorch gives");
    std::ranges::copy(to_memory_layout(parameter.layout, parameter.whole_shape(), tensor.values),
                      whole.begin());
  }

 private:
  bool is_npy() const { return path_.ends_with(".npy"); }

  /// "conv1.weight" of the layer that is conv1 here.
  std::string name_in_file(const Parameter& parameter) const {
    return layer_.empty() ? parameter.name : layer_ + parameter.name.substr(parameter.layer.size());
  }

  NamedTensor read_tensor(const std::string& name) const {
    TensorFile file = read_safetensors(path_);
    const auto found = std::ranges::find(file.tensors, name, &NamedTensor::name);
    if (found != file.tensors.end()) return std::move(*found);
    std::string names;
    constexpr std::size_t kMax = 10;
    for (std::size_t i = 0; i < std::min(kMax, file.tensors.size()); ++i)
      names += (i > 0 ? ", " : "") + file.tensors[i].name;
    if (file.tensors.size() > kMax) names += " ...";
    fail("the file has no " + name, "`layer`, by the name that it has there; the file has " + names);
  }

  NamedTensor read_npy() const {
    NpyArray array(std::make_unique<ByteReader>(path_));
    NamedTensor tensor{.name = path_, .shape = array.shape(), .values = {}};
    tensor.values.resize(static_cast<std::size_t>(array.shape().size()));
    array.read(tensor.values);
    return tensor;
  }

  [[noreturn]] void fail(const std::string& what, const std::string& help) const {
    throw Error(ExitCode::weights, {Diagnostic{.what = what, .place = path_, .notes = {}, .help = help}});
  }

  std::string path_, layer_;
};

const Registry<Initializer>::Add from_file_initializer{
    {.name = "file",
     .help = "weights from a file, in PyTorch's shapes; biases begin at 0 (model.weights loads whole layers)",
     .primary = "path",
     .settings = {text("path", "a safetensors file, or an npy file for a layer of one weight"),
                  text("layer", "name of the layer in the file, if it differs").optional()}},
    [](const Config& config) { return std::make_unique<FromFile>(config); }};

}  // namespace
}  // namespace trainer
