#include "engine/math/activations.h"

#include "tests/engine/math/values.h"

using namespace trainer;

TEST_CASE("elu with an alpha is that of double, and its derivative follows from its value", "[activations]") {
  constexpr double kAlpha = 0.75;
  Values x{0, -1e-20f, 1e-20f};
  for (float value = 1e-6f; value < 85; value *= 1.013f) x.insert(x.end(), {value, -value});
  Values y(x.size()), dx(x.size());
  const Values ones = filled(std::ssize(x), 1);
  elu(std::ssize(x), kAlpha, x.data(), y.data());
  elu_backward(std::ssize(x), kAlpha, y.data(), ones.data(), dx.data());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double value = static_cast<double>(x[i]);
    CHECK(static_cast<double>(y[i]) == Approx(value > 0 ? value : kAlpha * std::expm1(value)).epsilon(1e-6));
    CHECK(static_cast<double>(dx[i]) == Approx(value > 0 ? 1 : kAlpha * std::exp(value)).margin(1e-6));
  }
  elu(1, kAlpha, &kNan, y.data());
  CHECK(std::isnan(y[0]));
}

TEST_CASE("power is that of double, for fractions and for powers below zero", "[activations]") {
  Values x;
  for (float value = 1e-30f; value < 1e30f; value *= 1.37f) x.push_back(value);
  const float exponent = GENERATE(-0.75f, 0.5f, -1.0f, 1.0f);
  Values y(x.size());
  power(std::ssize(x), exponent, x.data(), y.data());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double truth = std::pow(static_cast<double>(x[i]), static_cast<double>(exponent));
    if (truth < 3e38 && truth > 1.2e-38) CHECK(static_cast<double>(y[i]) == Approx(truth).epsilon(1e-5));
  }
  power(1, exponent, &kNan, y.data());
  CHECK(std::isnan(y[0]));
}

TEST_CASE("prelu has a weight for each column, and its terms add up to the weights' gradients",
          "[activations]") {
  const Values weight{0.5f, -0.25f}, x{1, -2, -3, 4}, dy{5, 6, 7, 8};
  Values y(4), dx(4), terms(4);
  prelu(2, 2, weight.data(), x.data(), y.data());
  CHECK(y == Values{1, 0.5f, -1.5f, 4});
  prelu_backward(2, 2, weight.data(), x.data(), dy.data(), dx.data(), terms.data());
  CHECK(dx == Values{5, -1.5f, 3.5f, 8});
  CHECK(terms == Values{0, -12, -21, 0});
  Values over = dy;
  prelu_backward(2, 2, weight.data(), x.data(), over.data(), nullptr, over.data());
  CHECK(over == terms);
}
