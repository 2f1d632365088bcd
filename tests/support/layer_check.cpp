#include "tests/support/layer_check.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <limits>

#include "engine/core/random.h"

namespace trainer {
namespace {

/// A quarter of the distance between neighbours of distinct_numbers(), so that no kink of relu or max_pool is
/// crossed. Large, because the loss is only as exact as float32.
constexpr float kStep = 0.01f;
constexpr double kTolerance = 0.01;

/// Numbers in random order, none near zero or near another.
std::vector<float> distinct_numbers(std::int64_t count) {
  std::vector<float> numbers;
  for (const std::int64_t position : permutation(count, RandomStream(3, "x"))) {
    const std::int64_t pair = position / 2;
    const float magnitude = static_cast<float>(pair) + 0.5f;
    numbers.push_back((position % 2 == 0 ? 4 : -4) * kStep * magnitude);
  }
  return numbers;
}

}  // namespace

double relative_difference(std::span<const float> values, std::span<const float> expected) {
  if (values.size() != expected.size()) return std::numeric_limits<double>::quiet_NaN();
  double difference = 0, largest = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i])) return std::numeric_limits<double>::quiet_NaN();
    difference = std::max(difference, std::fabs(static_cast<double>(values[i]) - expected[i]));
    largest = std::max(largest, std::fabs(static_cast<double>(expected[i])));
  }
  return difference / (largest > 0 ? largest : 1);
}

void check_gradients(const std::string& layers, const Shape& sample, const LayerHarness::Options& options,
                     const std::vector<float>& given) {
  LayerHarness harness(layers, sample, options);
  std::vector<float> x = given.empty() ? distinct_numbers(options.rows * sample.size()) : given;
  std::vector<float> dy(static_cast<std::size_t>(options.rows * harness.output().size()));
  RandomStream(5, "dy").fill_uniform(0, dy);
  for (float& number : dy) number = number - 0.5f;
  const auto loss = [&] {
    const std::vector<float> y = harness.forward(x);
    double sum = 0;
    for (std::size_t i = 0; i < y.size(); ++i) sum += static_cast<double>(y[i]) * dy[i];
    return sum;
  };
  const auto derivatives = [&](std::span<float> numbers) {
    std::vector<float> result;
    for (float& number : numbers) {
      const float middle = number;
      number = middle + kStep;
      const double above = loss(), upper = number;
      number = middle - kStep;
      const double below = loss(), lower = number;
      number = middle;
      result.push_back(static_cast<float>((above - below) / (upper - lower)));
    }
    return result;
  };

  harness.forward(x);
  const std::vector<float> dx = harness.backward(dy);
  std::vector<std::vector<float>> gradients;
  for (const Parameter& parameter : harness.parameters()) gradients.push_back(harness.gradient(parameter));

  INFO(layers << " on " << sample.text());
  if (given.empty()) CHECK(relative_difference(dx, derivatives(x)) < kTolerance);
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    const Parameter& parameter = harness.parameters()[i];
    if (parameter.is_frozen) continue;
    INFO(parameter.name);
    CHECK(relative_difference(gradients[i], derivatives(harness.values(parameter))) < kTolerance);
  }
}

namespace {

using Results = std::vector<std::vector<float>>;

/// Of a training step and an evaluation of these layers: outputs, gradients and states.
Results all_results(const std::string& layers, const Shape& sample, const LayerHarness::Options& options,
                    int vocabulary, std::vector<float> x) {
  LayerHarness harness(layers, sample, options);
  if (vocabulary > 0)
    for (std::size_t i = 0; i < x.size(); ++i)
      x[i] = static_cast<float>(i * i % static_cast<std::size_t>(vocabulary));
  std::vector<float> dy(static_cast<std::size_t>(options.rows * harness.output().size()));
  RandomStream(5, "dy").fill_uniform(0, dy);
  Results all{harness.forward(x)};
  const auto add = [&](std::span<const float> numbers) { all.emplace_back(numbers.begin(), numbers.end()); };
  add(harness.backward(dy));
  for (const Parameter& parameter : harness.parameters()) add(harness.gradient(parameter));
  for (const State& state : harness.plan().states()) add(harness.values(state));
  add(harness.forward(x, Mode::evaluation));
  return all;
}

/// The Euclidean norm of the difference from `other`, which is zeros if it is empty.
double distance(std::span<const float> values, std::span<const float> other = {}) {
  double sum = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double difference = static_cast<double>(values[i]) - (other.empty() ? 0.0f : other[i]);
    sum += difference * difference;
  }
  return std::sqrt(sum);
}

/// NaN equals itself.
bool same_bits(const Results& one, const Results& other) {
  return std::ranges::equal(one, other, [](const std::vector<float>& a, const std::vector<float>& b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
  });
}

}  // namespace

void check_exactness(const std::string& layers, const Shape& sample, int vocabulary) {
  constexpr int kVirtualWorkers = 8;
  for (const std::int64_t rows : {21, 5}) {
    LayerHarness::Options options{.rows = rows, .exact_virtual_workers = kVirtualWorkers};
    const std::vector<float> x = distinct_numbers(rows * sample.size());
    const Results alone = all_results(layers, sample, options, vocabulary, x);
    for (const int workers : {2, 3, 5, 8, 9}) {
      options.workers = workers;
      const Results shared = all_results(layers, sample, options, vocabulary, x);
      INFO(layers << " on " << sample.text() << ", " << rows << " rows, " << workers << " workers");
      CHECK(same_bits(alone, shared));
    }
  }
}

void check_stored_activations(const std::string& layers, const Shape& sample, int vocabulary) {
  LayerHarness::Options options{.rows = 9, .exact_virtual_workers = 4};
  std::vector<float> x(static_cast<std::size_t>(options.rows * sample.size()));
  RandomStream(3, "x").fill_uniform(0, x);
  for (float& number : x) number = 2 * number - 1;
  INFO(layers << " on " << sample.text());
  const Results expected = all_results(layers, sample, options, vocabulary, x);
  options.stores_bfloat16 = true;
  const Results stored = all_results(layers, sample, options, vocabulary, x);
  REQUIRE(stored.size() == expected.size());
  double largest = 0;
  for (const std::vector<float>& one : expected) largest = std::max(largest, distance(one));
  // Of a relu or a max_pool, rounding may turn an element. Gradients of biases before a batch_norm are zero
  // but for rounding.
  for (std::size_t i = 0; i < stored.size(); ++i) {
    REQUIRE(stored[i].size() == expected[i].size());
    CHECK(distance(stored[i], expected[i]) < 0.1 * distance(expected[i]) + 0.01 * largest);
  }
  options.workers = 3;
  CHECK(same_bits(stored, all_results(layers, sample, options, vocabulary, x)));
}

}  // namespace trainer
