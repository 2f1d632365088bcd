#include "models/optimizers/outer_optimizer.h"

#include <catch2/catch.hpp>

#include "engine/config/config_tree.h"

namespace trainer {
namespace {

struct BuiltOuter {
  explicit BuiltOuter(const std::string& yaml)
      : tree(ConfigTree::member("outer-optimizer", yaml)),
        optimizer(Registry<OuterOptimizer>::make(tree.root())) {}
  ConfigTree tree;
  std::unique_ptr<OuterOptimizer> optimizer;
};

}  // namespace

TEST_CASE("the outer nesterov is PyTorch's SGD with nesterov=True, at its own rate", "[optimizers]") {
  const BuiltOuter built("nesterov: {lr: 0.5, momentum: 0.5}");
  CHECK(built.optimizer->text() == "nesterov lr 0.5 momentum 0.5");
  std::vector<float> value{1}, gradient{0.5f}, velocity{0};
  const Segment segment{.values = value, .gradients = gradient, .states = {velocity}, .rate = 0.1f};
  built.optimizer->step(std::span(&segment, 1), 0.1f, 0);
  CHECK(value[0] == 0.625f);  // 1 - 0.5 (0.5 + 0.5 * 0.5)
  gradient[0] = 0.25f;
  built.optimizer->step(std::span(&segment, 1), 0.1f, 1);
  CHECK(value[0] == 0.375f);  // 0.625 - 0.5 (0.25 + 0.5 (0.5 * 0.5 + 0.25))
}

TEST_CASE("the outer average takes the mean and keeps nothing", "[optimizers]") {
  const BuiltOuter built("average");
  CHECK(built.optimizer->states().empty());
  std::vector<float> value{1}, gradient{0.75f};
  const Segment segment{.values = value, .gradients = gradient};
  built.optimizer->step(std::span(&segment, 1), 0.1f, 0);
  CHECK(value[0] == 0.25f);
}

}  // namespace trainer
