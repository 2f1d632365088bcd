// Each line is what follows a -s, on top of a sound configuration.
#include <sstream>

#include "engine/config/config_tree.h"
#include "models/training/settings.h"
#include "tests/fuzz/target.h"

namespace trainer {
namespace {

const std::string kSound = R"(vars: {width: 8}
blocks: {pair: {args: {units: 4}, layers: [{dense: $units}, relu]}}
data: {dataset: digits}
model:
  layers: [{conv: {filters: 2, kernel: 3}}, {pair: {units: $width, repeat: 2}}, {residual: [batch_norm]}, dense: 10]
  loss: softmax_cross_entropy
train:
  {epochs: 1, batch: 8, optimizer: {sgd: {lr: 0.1}}, schedule: {step: {at: {epochs: [1]}}}, metrics: [accuracy]}
)";

const FuzzTarget target{"overrides", [](FuzzInput input) {
                          static const std::vector<Setting> settings = run_settings();
                          ConfigSource source{.file = "/nowhere/fuzz/a.yaml", .text = kSound};
                          std::istringstream lines(text_of(input));
                          for (std::string line; std::getline(lines, line);) source.overrides.push_back(line);
                          ConfigTree(source, settings).resolved_yaml();
                        }};

}  // namespace
}  // namespace trainer
