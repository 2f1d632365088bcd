// Compares with what PyTorch computed; make_golden.py writes the files of this folder.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <numeric>
#include <sstream>

#include "engine/math/square_sum.h"
#include "models/formats/layout.h"
#include "models/losses/loss.h"
#include "models/optimizers/optimizer.h"
#include "models/schedules/schedule.h"
#include "models/training/gradient_clip.h"
#include "tests/golden/golden_file.h"
#include "tests/support/layer_check.h"

namespace trainer {
namespace {

constexpr double kTolerance = 1e-5;      // of values and gradients, relative to the largest
constexpr double kLossTolerance = 1e-4;  // of losses during training

double norm(std::span<const float> numbers) {
  double sum = 0;
  for (const float number : numbers) sum += static_cast<double>(number) * static_cast<double>(number);
  return std::sqrt(sum);
}

void set_from_file(LayerHarness& harness, const TensorFile& golden) {
  for (const Parameter& parameter : harness.parameters()) {
    const NamedTensor& given = tensor(golden, "value/" + parameter.name);
    REQUIRE(given.shape == file_shape(parameter.layout, parameter.shape));
    std::ranges::copy(to_memory_layout(parameter.layout, parameter.shape, given.values),
                      harness.values(parameter).begin());
  }
  for (const State& state : harness.plan().states())
    std::ranges::copy(tensor(golden, "state/" + state.name).values, harness.values(state).begin());
}

/// Sets the outputs of padding to zero if y has positions: they have no meaning.
void clear_padding(const std::vector<std::int32_t>& lengths, const Shape& sample, std::vector<float>& y) {
  if (sample.rank() != 2) return;
  for (std::size_t row = 0; row < lengths.size(); ++row) {
    const auto begin = y.begin() + static_cast<std::ptrdiff_t>(row) * sample.size();
    std::fill(begin + lengths[row] * sample[1], begin + sample.size(), 0.0f);
  }
}

void check_layer(const TensorFile& golden, int workers) {
  const NamedTensor& x = tensor(golden, "x");
  const bool training = golden.metadata.at("mode") == "training";
  const std::vector<std::int32_t> lengths = lengths_of(golden);
  LayerHarness harness(golden.metadata.at("yaml"), sample_of(x),
                       {.rows = x.shape[0], .workers = workers, .lengths = lengths});
  set_from_file(harness, golden);
  std::vector<float> y = harness.forward(in_memory_order(x), training ? Mode::training : Mode::evaluation);
  clear_padding(lengths, harness.output(), y);
  CHECK(harness.output() == sample_of(tensor(golden, "y")));
  CHECK(relative_difference(y, in_memory_order(tensor(golden, "y"))) < kTolerance);
  if (!training) return;

  const std::vector<float> dx = harness.backward(in_memory_order(tensor(golden, "dy")));
  // Tokens have no gradient.
  if (const NamedTensor* expected = find(golden, "dx"))
    CHECK(relative_difference(dx, in_memory_order(*expected)) < kTolerance);
  for (const Parameter& parameter : harness.parameters()) {
    if (parameter.is_frozen) continue;
    INFO(parameter.name);
    const std::vector<float> gradient =
        to_file_layout(parameter.layout, parameter.shape, harness.gradient(parameter));
    CHECK(relative_difference(gradient, tensor(golden, "gradient/" + parameter.name).values) < kTolerance);
  }
  for (const State& state : harness.plan().states()) {
    INFO(state.name);
    CHECK(relative_difference(harness.values(state), tensor(golden, "state_after/" + state.name).values) <
          kTolerance);
  }
}

TEST_CASE("layers agree with PyTorch, on one worker and on two", "[golden]") {
  for (const TensorFile& golden : golden_cases("layer"))
    for (const int workers : {1, 2}) {
      INFO(golden.metadata.at("name") << " on " << workers << " workers");
      check_layer(golden, workers);
    }
}

TEST_CASE("losses agree with PyTorch", "[golden]") {
  for (const TensorFile& golden : golden_cases("loss")) {
    INFO(golden.metadata.at("name"));
    const NamedTensor& y = tensor(golden, "y");
    const std::vector<std::int32_t> labels = labels_of(golden);
    Targets targets{.labels = labels};
    if (labels.empty())
      targets.values = {tensor(golden, "values").values.data(), tensor(golden, "values").shape};
    const ConfigTree tree = ConfigTree::member("loss", golden.metadata.at("yaml"));
    const auto loss = Registry<Loss>::make(tree.root());
    const auto classes = golden.metadata.find("classes");
    loss->setup(y.shape.without_front(), labels.empty()                     ? 0
                                         : classes == golden.metadata.end() ? static_cast<int>(y.shape[1])
                                                                            : std::stoi(classes->second));
    const std::vector<std::int32_t> lengths = lengths_of(golden);
    targets.lengths = lengths;
    auto weight = static_cast<double>(y.shape[0]);
    if (const std::span<const double> weights = loss->class_weights(); !weights.empty())
      weight = std::accumulate(labels.begin(), labels.end(), 0.0, [weights](double sum, std::int32_t label) {
        return sum + weights[static_cast<std::size_t>(label)];
      });
    std::vector<float> dy(y.values.size());
    const double sum = loss->evaluate({y.values.data(), y.shape}, targets, static_cast<float>(1 / weight),
                                      {dy.data(), y.shape});
    CHECK(sum / weight == Approx(tensor(golden, "loss").values[0]).epsilon(kTolerance));
    CHECK(relative_difference(dy, tensor(golden, "dy").values) < kTolerance);
  }
}

TEST_CASE("optimizers agree with PyTorch over several steps", "[golden]") {
  for (const TensorFile& golden : golden_cases("optimizer")) {
    INFO(golden.metadata.at("name"));
    const ConfigTree tree = ConfigTree::member("optimizer", golden.metadata.at("yaml"));
    const auto optimizer = Registry<Optimizer>::make(tree.root());
    std::vector<float> values = tensor(golden, "first").values;
    std::vector<std::vector<float>> states(optimizer->states().size(),
                                           std::vector<float>(values.size(), optimizer->initial()));
    Segment segment{.values = values};
    std::ranges::copy(states, segment.states.begin());
    const Shape& shape = tensor(golden, "first").shape;
    std::vector<float> scratch;
    if (shape.rank() == 2) {
      segment.rows = shape[0];
      segment.columns = shape[1];
      scratch.resize(static_cast<std::size_t>(optimizer->scratch_floats(shape[0], shape[1])));
      segment.scratch = scratch;
    }
    std::vector<float> gradients = tensor(golden, "gradients").values;
    for (std::int64_t step = 0; step < tensor(golden, "gradients").shape[0]; ++step) {
      const std::size_t first = static_cast<std::size_t>(step) * values.size();
      segment.gradients = segment.direction = std::span(gradients).subspan(first, values.size());
      optimizer->find_directions(std::span(&segment, 1), step);
      segment.value_norm = norm(values);
      segment.direction_norm = norm(segment.direction);
      optimizer->step(std::span(&segment, 1), static_cast<float>(optimizer->rate()), step);
      CHECK(relative_difference(values,
                                std::span(tensor(golden, "values").values).subspan(first, values.size())) <
            kTolerance);
    }
  }
}

TEST_CASE("schedules agree with PyTorch over 30 steps in 6 epochs", "[golden]") {
  constexpr double kMomentum = 0.9;  // where a schedule leaves it alone
  for (const TensorFile& golden : golden_cases("schedule")) {
    INFO(golden.metadata.at("name"));
    const ScheduleContext context{.rate = 0.5, .steps_per_epoch = 5, .total_steps = 30};
    const ConfigTree tree = ConfigTree::member("schedule", golden.metadata.at("yaml"));
    const auto schedule = Registry<Schedule, const ScheduleContext&>::make(tree.root(), context);
    const std::vector<float>& rates = tensor(golden, "rates").values;
    for (std::size_t step = 0; step < rates.size(); ++step) {
      INFO("step " << step);
      CHECK(schedule->at(static_cast<std::int64_t>(step)) == Approx(rates[step]).epsilon(1e-6));
      const auto momentum = schedule->momentum(static_cast<std::int64_t>(step));
      CHECK(momentum.value_or(kMomentum) == Approx(tensor(golden, "momentums").values[step]).epsilon(1e-6));
      if (const NamedTensor* losses = find(golden, "losses")) schedule->see(losses->values[step]);
    }
  }
}

/// The formula of cases/trainings.py: values in [-1, 1).
double hashed(std::uint32_t purpose, std::int64_t index) {
  std::uint32_t h = static_cast<std::uint32_t>(index) * 2654435761u + purpose * 40503u + 12345u;
  h = (h ^ (h >> 15)) * 2246822519u;
  h = (h ^ (h >> 13)) * 3266489917u;
  return (h ^ (h >> 16)) / 2147483648.0 - 1;
}

std::vector<double> losses_of_training(const TensorFile& golden) {
  std::istringstream shape_text(golden.metadata.at("shape"));
  std::int64_t channels = 0, height = 0, width = 0;
  shape_text >> channels >> height >> width;
  REQUIRE(channels == 1);  // so that both orders of a map are one
  const std::int64_t batch = std::stoll(golden.metadata.at("batch"));
  const Shape sample{height, width, channels};
  LayerHarness harness(golden.metadata.at("yaml"), sample, {.rows = batch, .workers = 2});
  const bool gives_back = golden.metadata.at("loss") != "softmax_cross_entropy";
  const ConfigTree loss_tree = ConfigTree::member("loss", golden.metadata.at("loss"));
  const auto loss = Registry<Loss>::make(loss_tree.root());
  const ConfigTree optimizer_tree = ConfigTree::member("optimizer", golden.metadata.at("optimizer"));
  const auto optimizer = Registry<Optimizer>::make(optimizer_tree.root());

  const double amplitude = std::stod(golden.metadata.at("amplitude"));
  std::vector<std::vector<float>> velocities;
  for (std::uint32_t number = 0; const Parameter& parameter : harness.parameters()) {
    std::vector<float> whole(static_cast<std::size_t>(parameter.shape.size()));
    for (std::size_t i = 0; i < whole.size(); ++i)
      whole[i] = static_cast<float>(amplitude * hashed(number, static_cast<std::int64_t>(i)));
    std::ranges::copy(to_memory_layout(parameter.layout, parameter.shape, whole),
                      harness.values(parameter).begin());
    velocities.emplace_back(whole.size());
    ++number;
  }
  std::vector<double> losses;
  for (std::int64_t step = 0; step < tensor(golden, "losses").shape[0]; ++step) {
    std::vector<float> x(static_cast<std::size_t>(batch * sample.size()));
    for (std::size_t i = 0; i < x.size(); ++i)
      x[i] = static_cast<float>(
          std::abs(hashed(100, step * batch * sample.size() + static_cast<std::int64_t>(i))));
    std::vector<std::int32_t> labels;
    for (std::int64_t row = 0; row < batch; ++row)
      labels.push_back(static_cast<std::int32_t>((hashed(101, step * batch + row) + 1) * 5));
    const std::vector<float> y = harness.forward(x);
    const Shape shape = harness.output().with_front(batch);
    std::vector<float> dy(y.size());
    Targets targets{.labels = labels};
    if (gives_back) targets = {.labels = {}, .values = {x.data(), shape}};
    losses.push_back(
        loss->evaluate({y.data(), shape}, targets, 1.0f / static_cast<float>(batch), {dy.data(), shape}) /
        static_cast<double>(batch));
    harness.backward(dy);
    for (std::size_t i = 0; const Parameter& parameter : harness.parameters()) {
      const std::vector<float> gradient = harness.gradient(parameter);
      const Segment segment{.values = harness.values(parameter),
                            .gradients = gradient,
                            .states = {velocities[i++]},
                            .is_weight = parameter.is_weight};
      optimizer->step(std::span(&segment, 1), static_cast<float>(optimizer->rate()), step);
    }
  }
  return losses;
}

TEST_CASE("clipping a gradient agrees with PyTorch", "[golden]") {
  for (const TensorFile& golden : golden_cases("clip")) {
    INFO(golden.metadata.at("name"));
    const std::vector<float>&a = tensor(golden, "a").values, &b = tensor(golden, "b").values;
    SquareSum squares(
        std::max(largest_magnitude(std::ssize(a), a.data()), largest_magnitude(std::ssize(b), b.data())));
    for (const auto* part : {&a, &b}) squares.add(std::ssize(*part), part->data());
    const double norm = squares.root(squares.high(), squares.low());
    CHECK(norm == Approx(tensor(golden, "norm").values[0]).epsilon(1e-7));
    const float factor = clip_factor(norm, std::stod(golden.metadata.at("limit")));
    for (std::vector<float> clipped : {a, b}) {
      const bool is_a = clipped.size() == a.size();
      for (float& number : clipped) number *= factor;
      CHECK(relative_difference(clipped, tensor(golden, is_a ? "clipped_a" : "clipped_b").values) < 1e-7);
    }
  }
}

TEST_CASE("a run of 20 steps from given weights follows PyTorch's losses", "[golden]") {
  for (const TensorFile& golden : golden_cases("training")) {
    INFO(golden.metadata.at("name"));
    const std::vector<double> losses = losses_of_training(golden);
    const NamedTensor& expected = tensor(golden, "losses");
    REQUIRE(losses.size() == 20);
    for (std::size_t step = 0; step < losses.size(); ++step) {
      INFO("step " << step);
      const double largest = std::max(1.0, std::abs(static_cast<double>(expected.values[step])));
      CHECK(losses[step] == Approx(expected.values[step]).margin(kLossTolerance * largest).epsilon(0));
    }
  }
}

}  // namespace
}  // namespace trainer
