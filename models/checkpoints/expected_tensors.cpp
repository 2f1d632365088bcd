#include "models/checkpoints/expected_tensors.h"

#include <algorithm>

#include "models/formats/layout.h"
#include "models/network/shard.h"

namespace trainer {

std::map<std::string, ExpectedTensor> expected_tensors(const NetworkPlan& plan,
                                                       const std::vector<std::string>& suffixes,
                                                       StateUse states) {
  std::map<std::string, ExpectedTensor> expected;
  for (const Parameter& parameter : plan.parameters())
    for (const std::string& suffix : suffixes)
      expected[parameter.name + suffix] = {
          .file_shape = file_shape(parameter.layout, parameter.whole_shape()), .parameter = &parameter};
  for (const State& state : plan.states())
    if (state.use == states) expected[state.name] = {.file_shape = state.shape, .state = &state};
  return expected;
}

void take_tensor(const NamedTensor& tensor, const ExpectedTensor& expected, const FlatValues<float>& values,
                 std::span<float> states) {
  if (expected.state) {
    std::ranges::copy(tensor.values, states.begin() + expected.state->offset);
    return;
  }
  const Parameter& parameter = *expected.parameter;
  take_shard(parameter, to_memory_layout(parameter.layout, parameter.whole_shape(), tensor.values),
             values.subspan(parameter.offset, parameter.shape.size()));
}

void fail_to_load(std::vector<std::string> notes, const std::string& place, const std::string& help) {
  constexpr std::size_t kMax = 10;
  if (notes.size() > kMax) {
    const std::size_t more = notes.size() - kMax;
    notes.resize(kMax);
    notes.push_back("and " + std::to_string(more) + " more");
  }
  throw Error(
      ExitCode::weights,
      {Diagnostic{.what = "the weights do not fit the model", .place = place, .notes = notes, .help = help}});
}

}  // namespace trainer
