// Prints what the guards add to an update, on one thread, as CSV: optimizer, milliseconds of a step, of its
// update without guards and with them, and what they add, in percent of the step. Steps are the products of
// mlp-large.yaml, whose weights are more than the second cache holds, so that its update waits for memory.
// Both kinds take turns, some steps each, and of every figure it is the least: what else the machine does can
// only add to it, and adds more than the guards. Of five such pairs it is the one with the median percentage;
// the least and the most percent stand behind it.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "engine/math/gemm.h"
#include "engine/math/square_sum.h"
#include "engine/parallel/communicator.h"
#include "models/layers/nested_plan.h"
#include "models/training/optimizer_shard.h"
#include "tests/models/optimizers/built_optimizer.h"

using namespace trainer;

namespace {

using Milliseconds = std::chrono::duration<double, std::milli>;
using Clock = std::chrono::steady_clock;

constexpr std::int64_t kBatch = 128;
constexpr std::array<std::int64_t, 4> kWidths{784, 1024, 1024, 10};
constexpr int kPairs = 5, kTurns = 10, kSteps = 25;
constexpr int kFirstSteps = 3;  // of a turn, which find the other kind's values in the caches

/// What one kind of steps took at least.
struct Times {
  Milliseconds step{1e9}, update{1e9};
};

/// A network of dense layers without anything but their products, and its update.
class Steps {
 public:
  Steps(const std::string& yaml, float average, bool guarded) : built_(yaml) {
    for (std::size_t layer = 0; layer + 1 < kWidths.size(); ++layer) {
      NestedPlan nested(plan_);
      nested.begin_layer(nullptr, "dense", "");
      plan_.parameter({.name = "weight", .shape = {kWidths[layer], kWidths[layer + 1]}});
    }
    window_.emplace(mesh_, pool_, plan_.parameter_borders(), ParameterWindow::Options{});
    std::vector<std::string> states = built_.optimizer->states();
    owned_.emplace(plan_, *window_, pool_,
                   OptimizerShard::Options{
                       .states = states.size(), .initial = built_.optimizer->initial(), .ema = average});
    std::ranges::fill(window_->only().values(), 1e-3f);
    if (average > 0) {
      owned_->begin_ema();
      states.push_back("average");
    }
    if (guarded) owned_->guard({.parameters = plan_.parameters(), .states = states, .place = "here"});
    for (const std::int64_t width : kWidths) {
      outputs_.emplace_back(static_cast<std::size_t>(kBatch * width), 1e-3f);
      gradients_.emplace_back(static_cast<std::size_t>(kBatch * width), 1e-3f);
    }
  }

  void take_turn(Times& least) {
    for (int i = 0; i < kSteps; ++i) {
      const auto begin = Clock::now();
      compute_gradients();
      const auto computed = Clock::now();
      update();
      const auto end = Clock::now();
      if (i < kFirstSteps) continue;
      least.step = std::min<Milliseconds>(least.step, end - begin);
      least.update = std::min<Milliseconds>(least.update, end - computed);
    }
  }

 private:
  void compute_gradients() {
    for (std::size_t layer = 0; layer + 1 < kWidths.size(); ++layer)
      gemm(Transpose::no, Transpose::no, kBatch, kWidths[layer + 1], kWidths[layer], outputs_[layer].data(),
           kWidths[layer], weights_of(window_->only().values(), layer), kWidths[layer + 1], 0,
           outputs_[layer + 1].data(), kWidths[layer + 1]);
    for (std::size_t layer = kWidths.size() - 1; layer-- > 0;) {
      const std::int64_t in = kWidths[layer], out = kWidths[layer + 1];
      const float* gradients = gradients_[layer + 1].data();
      gemm(Transpose::yes, Transpose::no, in, out, kBatch, outputs_[layer].data(), in, gradients, out, 0,
           weights_of(window_->only().gradients(0), layer), out);
      if (layer > 0)
        gemm(Transpose::no, Transpose::yes, kBatch, in, out, gradients, out,
             weights_of(window_->only().values(), layer), out, 0, gradients_[layer].data(), in);
    }
  }

  void update() {
    Optimizer& optimizer = *built_.optimizer;
    if (!is_finite_magnitude(owned_->largest_gradient()))
      throw std::logic_error("gradients of ones are finite");
    owned_->find_directions(optimizer, step_);
    if (optimizer.requires_norms()) owned_->set_norms([](int) { return std::pair{1.0, 1.0}; });
    owned_->update(optimizer, 1e-6f, step_++);
  }

  float* weights_of(std::span<float> flat, std::size_t layer) const {
    return flat.data() + plan_.parameters()[layer].offset;
  }

  BuiltOptimizer built_;
  std::unique_ptr<Communicator> world_ = solo();
  Mesh mesh_{*world_, {.data = 1, .model = 1}};
  ThreadPool pool_{1, false};
  NetworkPlan plan_{kBatch};
  std::optional<ParameterWindows> window_;
  std::optional<OptimizerShard> owned_;
  std::vector<std::vector<float>> outputs_, gradients_;  ///< of each layer's input, and at the end the output
  std::int64_t step_ = 0;
};

/// The addresses of arrays matter as much as the guards, so pairs are made anew, either kind first in
/// turns.
struct Pair {
  Pair(const std::string& yaml, float average, bool guarded_first) {
    kinds[guarded_first ? 1 : 0].emplace(yaml, average, guarded_first);
    kinds[guarded_first ? 0 : 1].emplace(yaml, average, !guarded_first);
    for (int turn = 0; turn < kTurns; ++turn)
      for (std::size_t kind : {0u, 1u}) kinds[kind]->take_turn(least[kind]);
  }
  double percent() const { return 100 * (least[1].update - least[0].update) / least[0].step; }

  std::array<std::optional<Steps>, 2> kinds;  ///< without guards, with them
  std::array<Times, 2> least;
};

void compare(const std::string& name, const std::string& optimizer, float average) {
  std::vector<std::unique_ptr<Pair>> pairs;
  pairs.reserve(kPairs);
  for (int i = 0; i < kPairs; ++i) pairs.push_back(std::make_unique<Pair>(optimizer, average, i % 2 == 1));
  std::ranges::sort(pairs, {}, [](const auto& pair) { return pair->percent(); });
  const Pair& median = *pairs[pairs.size() / 2];
  fmt::print("{},{:.2f},{:.3f},{:.3f},{:.1f},{:.1f},{:.1f}\n", name, median.least[0].step.count(),
             median.least[0].update.count(), median.least[1].update.count(), median.percent(),
             pairs.front()->percent(), pairs.back()->percent());
  std::fflush(stdout);
}

}  // namespace

int main() {
  fmt::print("optimizer,step_ms,update_ms,guarded_update_ms,percent,least,most\n");
  const std::array<std::pair<const char*, const char*>, 4> optimizers{
      {{"momentum", "{sgd: {lr: 0.01, momentum: 0.9}}"},
       {"lars", "{lars: {lr: 1}}"},
       {"adam", "{adam: {lr: 0.001}}"},
       {"lamb", "{lamb: {lr: 0.001}}"}}};
  for (const auto& [name, yaml] : optimizers) {
    compare(name, yaml, 0);
    compare(std::string(name) + " with average", yaml, 0.999f);
  }
}
