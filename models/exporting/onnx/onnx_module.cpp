// The module libtrainer-onnx.so: its libraries cost a fifth of the time that the program takes to start.
#include <fmt/format.h>
#include <onnx/checker.h>
#include <onnx/common/version.h>
#include <onnx/onnx_pb.h>
#include <onnx/shape_inference/implementation.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "engine/core/error.h"
#include "engine/core/little_endian.h"
#include "models/exporting/onnx/onnx_functions.h"

namespace trainer {
namespace {

constexpr int kIrVersion = 8, kOperatorSet = 17;

int data_type(ElementType type) {
  return type == ElementType::int64 ? onnx::TensorProto::INT64 : onnx::TensorProto::FLOAT;
}

template <class T>
std::string raw_bytes(const std::vector<T>& values) {
  return std::string(LittleEndian(values).text());
}

void describe(const GraphTensor& tensor, const std::string& note, onnx::ValueInfoProto& to) {
  to.set_name(tensor.name);
  to.set_doc_string(note);
  onnx::TypeProto_Tensor& type = *to.mutable_type()->mutable_tensor_type();
  type.set_elem_type(data_type(tensor.type));
  for (const std::int64_t extent : tensor.extents) {
    onnx::TensorShapeProto_Dimension& dimension = *type.mutable_shape()->add_dim();
    if (extent == kBatch)
      dimension.set_dim_param("batch");
    else
      dimension.set_dim_value(extent);
  }
}

void add_constant(const GraphTensor& tensor, onnx::GraphProto& to) {
  onnx::TensorProto& constant = *to.add_initializer();
  constant.set_name(tensor.name);
  constant.set_data_type(data_type(tensor.type));
  for (const std::int64_t extent : tensor.extents) constant.add_dims(extent);
  constant.set_raw_data(tensor.type == ElementType::int64 ? raw_bytes(tensor.integers)
                                                          : raw_bytes(tensor.values));
}

/// Writes each kind of setting into its field.
struct AttributeWriter {
  onnx::AttributeProto& to;

  void operator()(std::int64_t value) const {
    to.set_type(onnx::AttributeProto::INT);
    to.set_i(value);
  }
  void operator()(float value) const {
    to.set_type(onnx::AttributeProto::FLOAT);
    to.set_f(value);
  }
  void operator()(const std::string& value) const {
    to.set_type(onnx::AttributeProto::STRING);
    to.set_s(value);
  }
  void operator()(const std::vector<std::int64_t>& values) const {
    to.set_type(onnx::AttributeProto::INTS);
    for (const std::int64_t value : values) to.add_ints(value);
  }
  void operator()(const std::vector<std::string>& values) const {
    to.set_type(onnx::AttributeProto::STRINGS);
    for (const std::string& value : values) to.add_strings(value);
  }
};

void add_node(const Graph& graph, const GraphNode& from, onnx::GraphProto& to) {
  onnx::NodeProto& node = *to.add_node();
  node.set_name(from.name);
  node.set_op_type(from.operation);
  for (const Value input : from.inputs) node.add_input(input.index < 0 ? "" : graph.at(input).name);
  node.add_output(graph.at(from.output).name);
  for (const auto& [name, value] : from.attributes) {
    onnx::AttributeProto& attribute = *node.add_attribute();
    attribute.set_name(name);
    std::visit(AttributeWriter{attribute}, value);
  }
}

/// Constants that a node reads.
std::vector<bool> used_constants(const Graph& graph) {
  std::vector<bool> used(graph.tensors.size());
  for (const GraphNode& node : graph.nodes)
    for (const Value input : node.inputs)
      if (input.index >= 0) used[static_cast<std::size_t>(input.index)] = graph.at(input).is_constant;
  return used;
}

/// The checks of ONNX itself; shape inference adds the shapes of all tensors to it.
void check(onnx::ModelProto& model) {
  try {
    onnx::checker::check_model(model);
    constexpr bool kCheckTypes = true, kPropagateData = true;
    constexpr int kStrict = 1;
    const onnx::ShapeInferenceOptions options{kCheckTypes, kStrict, kPropagateData};
    onnx::shape_inference::InferShapes(model, onnx::OpSchemaRegistry::Instance(), options);
  } catch (const std::exception& error) {
    throw Error(ExitCode::failure, fmt::format("ONNX's checker does not accept the model: {}", error.what()));
  }
}

std::string version() {
  return fmt::format("libonnx {}: IR {}, opset {}", onnx::LAST_RELEASE_VERSION, kIrVersion, kOperatorSet);
}

std::string write(const Graph& graph, const ModelNotes& notes) {
  onnx::ModelProto model;
  model.set_ir_version(kIrVersion);
  model.set_producer_name("trainer");
  model.set_doc_string(notes.name);
  model.add_opset_import()->set_version(kOperatorSet);
  const auto add_note = [&](const char* key, const nlohmann::ordered_json& json) {
    if (json.empty()) return;
    onnx::StringStringEntryProto& note = *model.add_metadata_props();
    note.set_key(key);
    note.set_value(json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  };
  nlohmann::ordered_json inputs = nlohmann::json::array(), fills = nlohmann::json::object();
  for (const InputNote& input : notes.inputs) {
    inputs.push_back(input.name);
    if (input.fill) fills[input.name] = *input.fill;
  }
  add_note("inputs", inputs);
  add_note("missing", fills);
  add_note("classes", notes.classes);
  onnx::GraphProto& to = *model.mutable_graph();
  to.set_name("network");
  describe(graph.at(graph.input), notes.input, *to.add_input());
  describe(graph.at(graph.output), notes.output, *to.add_output());
  const std::vector<bool> used = used_constants(graph);
  for (std::size_t i = 0; i < used.size(); ++i)
    if (used[i]) add_constant(graph.tensors[i], to);
  for (const GraphNode& node : graph.nodes) add_node(graph, node, to);
  if (model.ByteSizeLong() > static_cast<std::size_t>(std::numeric_limits<int>::max()))
    throw Error(ExitCode::usage, "the model is too large for an ONNX file, which holds 2 GiB");
  check(model);
  return model.SerializeAsString();
}

}  // namespace
}  // namespace trainer

const trainer::OnnxFunctions* trainer_onnx_functions() {
  static constexpr trainer::OnnxFunctions kFunctions{trainer::version, trainer::write};
  return &kFunctions;
}
