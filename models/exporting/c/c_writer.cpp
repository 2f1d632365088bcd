#include "models/exporting/c/c_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "engine/core/error.h"
#include "models/exporting/c/buffers.h"
#include "models/exporting/c/operation.h"
#include "models/graph/operations.h"

namespace trainer {
namespace {

/// Operators whose output has the elements of their input in the same order.
bool is_view(const std::string& operation) {
  return operation == "Reshape" || operation == "Flatten" || operation == "Identity" || operation == "Cast";
}

/// A graph for one sample: extents without kBatch, and where each tensor lies.
class CFile {
 public:
  explicit CFile(const Graph& graph)
      : graph_(graph),
        extents_(graph.tensors.size()),
        roots_(graph.tensors.size()),
        places_(graph.tensors.size()),
        last_uses_(graph.tensors.size(), 0) {
    for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
      roots_[i] = i;
      extents_[i] = graph.tensors[i].extents;
    }
    std::ranges::replace(extents_[at(graph.input)], kBatch, 1);
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) set_up(i);
  }

  std::string text(const ModelNotes& notes);

 private:
  static std::size_t at(Value value) { return static_cast<std::size_t>(value.index); }
  std::int64_t size(std::size_t tensor) const {
    return product(extents_[tensor], 0, extents_[tensor].size());
  }

  void set_up(std::size_t index);
  std::int64_t batch_of(const GraphNode& node) const;
  const COperation& operation_of(const GraphNode& node) const;
  void place_output(std::size_t index, const COperation& operation);
  std::string name_constant(const std::string& name);
  void place_constant(Value value);
  CNode::Tensor tensor(Value value);
  void add_call(std::size_t index);

  const Graph& graph_;
  std::vector<Extents> extents_;
  std::vector<std::size_t> roots_;  ///< the tensor whose memory a tensor shares
  std::vector<std::string> places_;
  std::vector<std::size_t> last_uses_;           ///< of a root: a node
  std::map<std::size_t, std::int64_t> offsets_;  ///< of live buffers
  Buffers buffers_;
  std::set<std::string> names_;
  std::vector<std::size_t> constants_;
  std::vector<std::string_view> functions_;
  std::string calls_;
};

std::int64_t CFile::batch_of(const GraphNode& node) const {
  for (const Value input : node.inputs) {
    if (input.index < 0 || graph_.at(input).is_constant) continue;
    const Extents& declared = graph_.extents(input);
    const auto found = std::ranges::find(declared, kBatch);
    if (found != declared.end())
      return extents_[at(input)][static_cast<std::size_t>(found - declared.begin())];
  }
  return 1;
}

void CFile::set_up(std::size_t index) {
  const GraphNode& node = graph_.nodes[index];
  Extents& extents = extents_[at(node.output)];
  if (is_view(node.operation)) {
    roots_[at(node.output)] = roots_[at(node.inputs[0])];
    const std::int64_t rest = size(at(node.inputs[0])) / std::max<std::int64_t>(element_count(extents), 1);
    std::ranges::replace(extents, kBatch, rest);
  } else {
    std::ranges::replace(extents, kBatch, batch_of(node));
  }
  for (const Value input : node.inputs)
    if (input.index >= 0) last_uses_[roots_[at(input)]] = index;
}

const COperation& CFile::operation_of(const GraphNode& node) const {
  const COperation* const operation = find_c_operation(node.operation);
  if (!operation)
    throw Error(ExitCode::usage,
                fmt::format("the layer {} cannot be exported to C: its operation {} has no C function",
                            node.layer, node.operation),
                "trainer export RUN onnx");
  return *operation;
}

/// `name` as a C identifier that no other constant has.
std::string CFile::name_constant(const std::string& name) {
  std::string identifier = "w_" + name;
  for (char& letter : identifier)
    if (!std::isalnum(static_cast<unsigned char>(letter)) || static_cast<unsigned char>(letter) > 127)
      letter = '_';
  std::string free = identifier;
  for (int number = 2; !names_.insert(free).second; ++number) free = fmt::format("{}_{}", identifier, number);
  return free;
}

CNode::Tensor CFile::tensor(Value value) {
  if (value.index < 0) return {"0", {}, nullptr};
  const GraphTensor& tensor = graph_.at(value);
  return {places_[roots_[at(value)]], extents_[at(value)], tensor.is_constant ? &tensor : nullptr};
}

/// In the memory of its input where the operation allows it and no later node reads the input.
void CFile::place_output(std::size_t index, const COperation& operation) {
  const GraphNode& node = graph_.nodes[index];
  const std::size_t output = at(node.output);
  if (output == roots_[at(graph_.output)]) {
    places_[output] = "output";
    return;
  }
  const std::size_t input = roots_[at(node.inputs[0])];
  if (operation.works_in_place && offsets_.contains(input) && last_uses_[input] == index) {
    offsets_[output] = offsets_.at(input);
    offsets_.erase(input);
  } else {
    offsets_[output] = buffers_.take(size(output));
  }
  places_[output] = fmt::format("memory + {}", offsets_.at(output));
}

/// Constants of int64 are settings of operators.
void CFile::place_constant(Value value) {
  const GraphTensor& tensor = graph_.at(value);
  std::string& place = places_[at(value)];
  if (!tensor.is_constant || tensor.type != ElementType::float32 || !place.empty()) return;
  place = name_constant(tensor.name);
  constants_.push_back(at(value));
}

void CFile::add_call(std::size_t index) {
  const GraphNode& node = graph_.nodes[index];
  const COperation& operation = operation_of(node);
  if (!std::ranges::count(functions_, operation.function)) functions_.push_back(operation.function);
  place_output(index, operation);
  std::vector<CNode::Tensor> inputs;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const Value input = node.inputs[i];
    if (i < operation.arrays && input.index >= 0) place_constant(input);
    inputs.push_back(tensor(input));
  }
  calls_ += "  " + operation.call(CNode(node, std::move(inputs), tensor(node.output))) + "\n";
  // A buffer that this node reads last is free for the next one.
  for (const Value input : node.inputs) {
    if (input.index < 0) continue;
    const auto found = offsets_.find(roots_[at(input)]);
    if (found == offsets_.end() || last_uses_[found->first] != index) continue;
    buffers_.free(found->second);
    offsets_.erase(found);
  }
}

/// Text that cannot end a comment or a string.
std::string escaped(const std::string& text) {
  std::string result;
  for (const char letter : text) {
    const auto code = static_cast<unsigned char>(letter);
    const bool is_plain =
        code >= ' ' && code < 127 && letter != '"' && letter != '\\' && letter != '?' && letter != '*';
    result += is_plain ? std::string(1, letter) : fmt::format("\\{:03o}", code);
  }
  return result;
}

std::string values_text(const std::vector<float>& values) {
  constexpr std::size_t kOnLine = 8;
  std::string text;
  for (std::size_t i = 0; i < values.size(); ++i)
    text += (i == 0 ? "  " : i % kOnLine == 0 ? ",\n  " : ", ") + c_number(values[i]);
  return text;
}

std::string inputs_text(const std::vector<InputNote>& inputs) {
  std::string names;
  for (const InputNote& input : inputs)
    names += fmt::format("  \"{}\",{}\n", escaped(input.name),
                         input.fill ? fmt::format("  /* {} if missing */", c_number(*input.fill)) : "");
  return "\nconst char *const predict_inputs[PREDICT_INPUTS] = {\n" + names + "};\n";
}

std::string classes_text(const std::vector<std::string>& classes) {
  std::string names;
  for (const std::string& name : classes) names += fmt::format("  \"{}\",\n", escaped(name));
  return "\nconst char *const predict_classes[PREDICT_OUTPUTS] = {\n" + names + "};\n";
}

std::string CFile::text(const ModelNotes& notes) {
  const std::size_t input = at(graph_.input), output = at(graph_.output);
  places_[input] = "input";
  for (std::size_t i = 0; i < graph_.nodes.size(); ++i)
    if (!is_view(graph_.nodes[i].operation)) add_call(i);
  if (roots_[output] == input)
    calls_ += "  for (int i = 0; i < PREDICT_OUTPUTS; ++i) output[i] = input[i];\n";

  std::string text = fmt::format(
      "/* {}\n\n   input:  {}\n   output: {}\n\n   C99; needs the library of <math.h> and nothing else. "
      "predict() "
      "computes one sample\n   and keeps its memory between calls: one thread at a time may call it. Declare "
      "it "
      "as\n\n     void predict(const float *input, float *output);\n\n   Another name: compile with "
      "-Dpredict=NAME. */\n#include <math.h>\n\nenum {{ PREDICT_INPUTS = {}, PREDICT_OUTPUTS = {} "
      "}};\n\nvoid "
      "predict(const float *input, float *output);\n",
      escaped(notes.name), escaped(notes.input), escaped(notes.output), size(input), size(output));
  if (std::ssize(notes.inputs) == size(input)) text += inputs_text(notes.inputs);
  if (std::ssize(notes.classes) == size(output)) text += classes_text(notes.classes);
  for (const std::size_t constant : constants_) {
    const GraphTensor& tensor = graph_.tensors[constant];
    text += fmt::format("\n/* {}: {} */\nstatic const float {}[] = {{\n", escaped(tensor.name),
                        tensor.extents.empty() ? "a number" : listed(tensor.extents), places_[constant]) +
            values_text(tensor.values) + "};\n";
  }
  for (const std::string_view function : functions_) text += function;
  if (buffers_.end() > 0) text += fmt::format("\nstatic float memory[{}];\n", buffers_.end());
  return text + "\nvoid predict(const float *input, float *output)\n{\n" + calls_ + "}\n";
}

}  // namespace

std::string c_file(const Graph& graph, const ModelNotes& notes) { return CFile(graph).text(notes); }

}  // namespace trainer
