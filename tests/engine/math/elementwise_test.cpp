#include "engine/math/elementwise.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>

#include "engine/math/instruction_set.h"
#include "tests/engine/math/values.h"

using namespace trainer;

namespace {

constexpr Activation kActivations[] = {Activation::none,    Activation::relu,      Activation::relu6,
                                       Activation::sigmoid, Activation::tanh,      Activation::gelu,
                                       Activation::silu,    Activation::hardswish, Activation::softplus,
                                       Activation::elu,     Activation::gelu_tanh};

/// A function of up to three arrays, written over the first of them.
using InPlace = void (*)(std::int64_t, float*, const float*, const float*);

}  // namespace

TEST_CASE("sigmoid, tanh and gelu are within 1e-6 of the true values over the whole range", "[elementwise]") {
  Values x;
  for (float value = 1e-30f; value < 120; value *= 1.01f) {
    x.push_back(value);
    x.push_back(-value);
  }
  Values y(x.size());
  const Activation f = GENERATE(Activation::sigmoid, Activation::tanh, Activation::gelu);
  activate(f, std::ssize(x), x.data(), y.data());
  double worst = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double value = static_cast<double>(x[i]);
    const double truth = f == Activation::tanh      ? std::tanh(value)
                         : f == Activation::sigmoid ? 1 / (1 + std::exp(-value))
                                                    : value * std::erfc(-value / std::sqrt(2.0)) / 2;
    // The power of a square has lost digits where gelu is below 1e-10.
    if (f == Activation::gelu && value < -6.5) continue;
    if (truth != 0 && std::fabs(truth) < 1.2e-38) continue;  // below the normal floats
    worst = std::max(worst, std::fabs(static_cast<double>(y[i]) - truth) / std::fabs(truth));
  }
  CHECK(worst < 1e-6);
}

TEST_CASE("silu, softplus and elu and their derivatives are true over the whole range", "[elementwise]") {
  Values x;
  for (float value = 1e-30f; value < 80; value *= 1.01f) {
    x.push_back(value);
    x.push_back(-value);
  }
  const Activation f = GENERATE(Activation::silu, Activation::softplus, Activation::elu);
  Values y(x.size()), expected(x.size()), dx(x.size()), expected_dx(x.size());
  const Values ones = filled(std::ssize(x), 1);
  activate(f, std::ssize(x), x.data(), y.data());
  reference::activate(f, std::ssize(x), x.data(), expected.data());
  activate_backward(f, std::ssize(x), derivative_from_input(f) ? x.data() : y.data(), ones.data(), dx.data());
  double worst = 0, worst_derivative = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double value = static_cast<double>(x[i]), sigmoid = 1 / (1 + std::exp(-value));
    const double derivative = f == Activation::silu       ? sigmoid * (1 + value * (1 - sigmoid))
                              : f == Activation::softplus ? sigmoid
                                                          : (value > 0 ? 1 : std::exp(value));
    worst_derivative = std::max(worst_derivative, std::fabs(static_cast<double>(dx[i]) - derivative));
    const double truth = static_cast<double>(expected[i]);
    worst = std::max(worst, std::fabs(static_cast<double>(y[i]) - truth) / std::max(std::fabs(truth), 1e-35));
  }
  CHECK(worst < 2e-6);
  CHECK(worst_derivative < 1e-6);
}

TEST_CASE("activations have their limits at 0 and infinity and keep NaN", "[elementwise]") {
  const Values x = {0, kInfinity, -kInfinity, kNan};
  Values y(4);
  const auto is = [&](float zero, float above, float below) {
    return y[0] == zero && y[1] == above && y[2] == below && std::isnan(y[3]);
  };
  activate(Activation::relu, 4, x.data(), y.data());
  CHECK(is(0, kInfinity, 0));
  activate(Activation::sigmoid, 4, x.data(), y.data());
  CHECK(is(0.5f, 1, 0));
  activate(Activation::tanh, 4, x.data(), y.data());
  CHECK(is(0, 1, -1));
  activate(Activation::gelu, 4, x.data(), y.data());
  CHECK(is(0, kInfinity, 0));
  activate(Activation::silu, 4, x.data(), y.data());
  CHECK(is(0, kInfinity, 0));
  activate(Activation::gelu_tanh, 4, x.data(), y.data());
  CHECK(is(0, kInfinity, 0));
  activate(Activation::hardswish, 4, x.data(), y.data());
  CHECK(is(0, kInfinity, 0));
  activate(Activation::softplus, 4, x.data(), y.data());
  CHECK(y[0] == Approx(std::log(2.0)).epsilon(1e-7));
  CHECK(is(y[0], kInfinity, 0));
  activate(Activation::elu, 4, x.data(), y.data());
  CHECK(is(0, kInfinity, -1));
  activate(Activation::none, 4, x.data(), y.data());
  CHECK(is(0, kInfinity, -kInfinity));
  leaky_relu(4, 0.5f, x.data(), y.data());
  CHECK(is(0, kInfinity, -kInfinity));
}

TEST_CASE("activations and their derivatives equal the reference at every length", "[elementwise]") {
  const std::int64_t count = GENERATE(0, 1, 3, 15, 16, 17, 100, 1000);
  const Values x = random_values(count, 1, 4), dy = random_values(count, 2);
  for (const Activation f : kActivations) {
    Values y(x.size()), expected(x.size()), dx(x.size()), expected_dx(x.size());
    activate(f, count, x.data(), y.data());
    reference::activate(f, count, x.data(), expected.data());
    CHECK(difference(y, expected) < 1e-6);
    const Values& read = derivative_from_input(f) ? x : y;
    activate_backward(f, count, read.data(), dy.data(), dx.data());
    reference::activate_backward(f, count, read.data(), dy.data(), expected_dx.data());
    CHECK(difference(dx, expected_dx) < 1e-6);
  }
}

TEST_CASE("NaN in the output or its gradient reaches the input's gradient", "[elementwise]") {
  const Values y = {kNan, 0.5f}, dy = {1, kNan};
  for (const Activation f : {Activation::relu, Activation::relu6, Activation::sigmoid, Activation::tanh,
                             Activation::gelu, Activation::gelu_tanh, Activation::silu, Activation::hardswish,
                             Activation::softplus, Activation::elu}) {
    Values dx(2);
    activate_backward(f, 2, y.data(), dy.data(), dx.data());
    // The derivative of relu and relu6 is 0 or 1 and hides the NaN of y, which the loss has seen.
    CHECK((std::isnan(dx[0]) || f == Activation::relu || f == Activation::relu6));
    CHECK(std::isnan(dx[1]));
  }
}

TEST_CASE("an element has the same bits at every place of an array, in place or not", "[elementwise]") {
  const InPlace functions[] = {
      [](auto n, auto* x, auto*, auto*) { activate(Activation::relu, n, x, x); },
      [](auto n, auto* x, auto*, auto*) { activate(Activation::relu6, n, x, x); },
      [](auto n, auto* x, auto* y, auto*) { activate_backward(Activation::relu6, n, y, x, x); },
      [](auto n, auto* x, auto*, auto*) { activate(Activation::sigmoid, n, x, x); },
      [](auto n, auto* x, auto*, auto*) { activate(Activation::tanh, n, x, x); },
      [](auto n, auto* x, auto*, auto*) { activate(Activation::gelu, n, x, x); },
      [](auto n, auto* x, auto* y, auto*) { activate_backward(Activation::tanh, n, y, x, x); },
      [](auto n, auto* x, auto* y, auto*) { activate_backward(Activation::gelu, n, y, x, x); },
      [](auto n, auto* x, auto*, auto*) { activate(Activation::silu, n, x, x); },
      [](auto n, auto* x, auto*, auto*) { activate(Activation::gelu_tanh, n, x, x); },
      [](auto n, auto* x, auto* y, auto*) { activate_backward(Activation::gelu_tanh, n, y, x, x); },
      [](auto n, auto* x, auto*, auto*) { activate(Activation::hardswish, n, x, x); },
      [](auto n, auto* x, auto* y, auto*) { activate_backward(Activation::hardswish, n, y, x, x); },
      [](auto n, auto* x, auto*, auto*) { activate(Activation::softplus, n, x, x); },
      [](auto n, auto* x, auto*, auto*) { activate(Activation::elu, n, x, x); },
      [](auto n, auto* x, auto* y, auto*) { activate_backward(Activation::silu, n, y, x, x); },
      [](auto n, auto* x, auto* y, auto*) { activate_backward(Activation::softplus, n, y, x, x); },
      [](auto n, auto* x, auto* y, auto*) { activate_backward(Activation::sigmoid, n, y, x, x); },
      [](auto n, auto* x, auto*, auto*) { leaky_relu(n, 0.1f, x, x); },
      [](auto n, auto* x, auto* y, auto*) { leaky_relu_backward(n, 0.1f, y, x, x); },
      [](auto n, auto* x, auto* y, auto*) { add(n, x, y, x); },
      [](auto n, auto* x, auto* y, auto*) { accumulate(n, y, x); },
      [](auto n, auto* x, auto*, auto*) { scale(n, 0.3f, x, x); },
      [](auto n, auto* x, auto* y, auto*) { multiply(n, x, y, x); },
      [](auto n, auto* x, auto* y, auto*) {
        Values loss(static_cast<std::size_t>(n));
        sigmoid_cross_entropy(n, 0.3f, x, y, loss.data(), x);
        add(n, loss.data(), x, x);
      }};
  constexpr std::int64_t kCount = 203;
  const Values x = random_values(kCount, 1, 3), y = random_values(kCount, 2), z = random_values(kCount, 3);
  for (const InPlace function : functions) {
    Values whole = x, pieces = x;
    function(kCount, whole.data(), y.data(), z.data());
    for (std::int64_t first = 0, length = 1; first < kCount; first += length, ++length)
      function(std::min(length, kCount - first), &pieces[static_cast<std::size_t>(first)], y.data() + first,
               z.data() + first);
    CHECK(same_bits(whole, pieces));
  }
}

TEST_CASE("bias_activate is the activation of the sum, and without bias the activation", "[elementwise]") {
  const auto [rows, columns] =
      GENERATE(table<int, int>({{0, 5}, {1, 1}, {128, 10}, {3, 1000}, {1000, 3}, {7, 5000}}));
  const Values x = random_values(rows * columns, 1, 2), bias = random_values(columns, 2);
  for (const Activation f : kActivations) {
    Values sum = x, y(x.size());
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += bias[i % bias.size()];
    activate(f, std::ssize(sum), sum.data(), sum.data());
    bias_activate(f, rows, columns, x.data(), bias.data(), y.data());
    CHECK(same_bits(y, sum));
    activate(f, std::ssize(x), x.data(), sum.data());
    bias_activate(f, rows, columns, x.data(), nullptr, y.data());
    CHECK(same_bits(y, sum));
  }
}

TEST_CASE("column_sums equals the reference and does not depend on where a column lies", "[elementwise]") {
  const auto [rows, columns] = GENERATE(
      table<int, int>({{0, 4}, {1, 1}, {5, 7}, {129, 16}, {130, 33}, {1000, 63}, {20000, 3}, {6, 500}}));
  const bool accumulate = GENERATE(false, true);
  const Values x = random_values(rows * columns, 1);
  Values sums = random_values(columns, 2), expected = sums;
  column_sums(rows, columns, x.data(), accumulate, sums.data());
  reference::column_sums(rows, columns, x.data(), accumulate, expected.data());
  CHECK(difference(sums, expected) < 1e-5);

  Values last(static_cast<std::size_t>(rows));
  for (int row = 0; row < rows; ++row)
    last[static_cast<std::size_t>(row)] = x[static_cast<std::size_t>(row * columns + columns - 1)];
  float alone = random_values(columns, 2).back();
  column_sums(rows, 1, last.data(), accumulate, &alone);
  CHECK(alone == sums.back());
}

TEST_CASE("softmax equals the reference, sums to 1 and survives large inputs", "[elementwise]") {
  const auto [rows, columns] =
      GENERATE(table<int, int>({{0, 3}, {1, 1}, {128, 10}, {3, 1000}, {2, 5000}, {300, 17}}));
  const Values x = random_values(rows * columns, 1, 200);
  Values y(x.size()), expected(x.size());
  softmax(rows, columns, x.data(), y.data());
  reference::softmax(rows, columns, x.data(), expected.data());
  CHECK(difference(y, expected) < 2e-6);
  for (int row = 0; row < rows; ++row) {
    double sum = 0;
    const float* line = y.data() + std::ptrdiff_t{row} * columns;
    for (int i = 0; i < columns; ++i) sum += static_cast<double>(line[i]);
    CHECK(sum == Approx(1).epsilon(1e-5));
  }
}

TEST_CASE("what label smoothing spreads over a softmax equals the formula, with weights and without",
          "[elementwise]") {
  const int columns = GENERATE(1, 5, 16, 17, 1000);
  const bool has_weights = GENERATE(false, true);
  const Values x = random_values(columns, 1, 9), given = random_values(columns, 2);
  const float* const weights = has_weights ? given.data() : nullptr;
  const float largest = *std::max_element(x.begin(), x.end());
  Values gradient = random_values(columns, 3), expected = gradient;
  double sum = 0, magnitude = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double weight = has_weights ? static_cast<double>(given[i]) : 1,
                 below = static_cast<double>(largest) - static_cast<double>(x[i]);
    sum += weight * below;
    magnitude += std::abs(weight * below);
    expected[i] = static_cast<float>(0.75 * static_cast<double>(gradient[i]) - 0.125 * weight);
  }
  CHECK(static_cast<double>(softmax_spread(columns, x.data(), largest, weights)) ==
        Approx(sum).margin(1e-6 * magnitude));
  softmax_spread_gradient(columns, 0.75f, 0.125f, weights, gradient.data());
  CHECK(difference(gradient, expected) < 1e-6);
}

TEST_CASE("a NaN spoils its own row of a softmax and no other", "[elementwise]") {
  const std::size_t where = GENERATE(5u, 7u, 9u);
  Values x = random_values(15, 1), y(15);
  x[where] = kNan;
  softmax(3, 5, x.data(), y.data());
  for (std::size_t i = 0; i < y.size(); ++i) CHECK(std::isnan(y[i]) == (i / 5 == 1));
}

TEST_CASE("sigmoid_cross_entropy and its gradient keep their digits where they are small", "[elementwise]") {
  std::vector<float> x, target;
  for (float logit = -100; logit <= 100; logit += 0.37f)
    for (const float t : {0.0f, 1.0f, 0.25f}) {
      x.push_back(logit);
      target.push_back(t);
    }
  std::vector<float> loss(x.size()), dx(x.size());
  sigmoid_cross_entropy(std::ssize(x), 0.5f, x.data(), target.data(), loss.data(), dx.data());
  for (std::size_t i = 0; i < x.size(); ++i) {
    INFO(x[i] << " for " << target[i]);
    const double logit = static_cast<double>(x[i]), t = static_cast<double>(target[i]);
    const double below = 1 / (1 + std::exp(logit)), above = 1 / (1 + std::exp(-logit));
    const double expected_loss = t * std::log1p(std::exp(-logit)) + (1 - t) * std::log1p(std::exp(logit));
    const double expected_gradient = 0.5 * ((1 - t) * above - t * below);
    // Below e^-87 both are 0.
    CHECK(std::abs(static_cast<double>(loss[i]) - expected_loss) <= 1e-6 * expected_loss + 2e-38);
    CHECK(std::abs(static_cast<double>(dx[i]) - expected_gradient) <=
          5e-7 * ((1 - t) * above + t * below) + 2e-38);
  }
}

TEST_CASE("bytes become values from 0 to 1", "[elementwise]") {
  std::vector<std::uint8_t> bytes(256);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(i);
  Values y(256);
  bytes_to_unit(256, bytes.data(), y.data());
  for (std::size_t i = 0; i < y.size(); ++i) CHECK(y[i] == static_cast<float>(i) / 255.0f);
}

TEST_CASE("values are stored as bfloat16 with the bits of the reference, and loaded as they were rounded",
          "[elementwise]") {
  const std::size_t count = GENERATE(1u, 16u, 77u);
  Values x = random_values(count, 4);
  x[0] = 0x1.01p-130f;  // subnormal
  if (count > 2) x[1] = kNan, x[2] = std::numeric_limits<float>::max();
  std::vector<Bfloat16> expected(count), stored(count);
  to_bfloat16(x, expected);
  store_bfloat16(static_cast<std::int64_t>(count), x.data(), stored.data());
  CHECK(std::ranges::equal(stored, expected, {}, &Bfloat16::bits, &Bfloat16::bits));
  Values loaded(count);
  load_bfloat16(static_cast<std::int64_t>(count), stored.data(), loaded.data());
  CHECK(std::memcmp(loaded.data(), x.data(), count * sizeof(float)) == 0);
  for (std::size_t i = 0; i < count; ++i) CHECK(to_bfloat16(loaded[i]).bits == stored[i].bits);
}

TEST_CASE("the instructions in use have a name", "[elementwise]") {
  const std::string name = instruction_set();
  CHECK((name == "baseline" || name == "AVX2" || name == "AVX-512"));
}
