#include "engine/math/normalization.h"

#include "tests/engine/math/values.h"

using namespace trainer;

namespace {

std::size_t at(std::int64_t row, std::int64_t channels, std::int64_t channel) {
  return static_cast<std::size_t>(row * channels + channel);
}

}  // namespace

TEST_CASE("batch normalisation's passes equal plain loops", "[normalization]") {
  const auto [rows, channels] =
      GENERATE(table<int, int>({{0, 3}, {1, 1}, {9, 2}, {100, 16}, {50, 31}, {7, 32}, {33, 64}, {20, 77}}));
  const Values x = random_values(rows * channels, 1, 3), dy = random_values(rows * channels, 2);
  const Values mean = random_values(channels, 3), a = random_values(channels, 4),
               b = random_values(channels, 5), d = random_values(channels, 6);
  std::vector<double> sums(mean.size(), 7), squares(mean.size(), 7), dy_sums(mean.size(), 7),
      dots(mean.size(), 7);
  Values y(x.size()), dx = dy;
  channel_moments(rows, channels, x.data(), sums.data(), squares.data());
  channel_affine(rows, channels, x.data(), a.data(), b.data(), y.data());
  batch_norm_backward_sums(rows, channels, x.data(), dy.data(), mean.data(), dy_sums.data(), dots.data());
  batch_norm_backward(rows, channels, x.data(), dx.data(), mean.data(), a.data(), b.data(), d.data(),
                      dx.data());
  for (int c = 0; c < channels; ++c) {
    const std::size_t channel = static_cast<std::size_t>(c);
    double sum = 0, square = 0, dy_sum = 0, dot = 0;
    float worst = 0;
    for (int row = 0; row < rows; ++row) {
      const std::size_t i = at(row, channels, c);
      const double distance = static_cast<double>(x[i]) - static_cast<double>(mean[channel]);
      sum += static_cast<double>(x[i]);
      square += static_cast<double>(x[i]) * static_cast<double>(x[i]);
      dy_sum += static_cast<double>(dy[i]);
      dot += static_cast<double>(dy[i]) * distance;
      const float here = x[i] - mean[channel];
      worst = std::max(worst, std::fabs(y[i] - (x[i] * a[channel] + b[channel])));
      worst = std::max(worst, std::fabs(dx[i] - (a[channel] * dy[i] + b[channel] * here + d[channel])));
    }
    CHECK(sums[channel] == Approx(sum).margin(1e-5));
    CHECK(squares[channel] == Approx(square).margin(1e-5));
    CHECK(dy_sums[channel] == Approx(dy_sum).margin(1e-5));
    CHECK(dots[channel] == Approx(dot).margin(1e-5));
    CHECK(worst < 1e-5f);
  }
}

TEST_CASE("a channel's sums do not depend on its place among the channels", "[normalization]") {
  constexpr int kRows = 61, kChannels = 53;
  const Values x = random_values(kRows * kChannels, 1), dy = random_values(kRows * kChannels, 2),
               mean = random_values(kChannels, 3);
  std::vector<double> sums(kChannels), dots(kChannels), totals(kChannels), squares(kChannels);
  batch_norm_backward_sums(kRows, kChannels, x.data(), dy.data(), mean.data(), sums.data(), dots.data());
  channel_moments(kRows, kChannels, x.data(), totals.data(), squares.data());
  for (std::size_t c = 0; c < kChannels; ++c) {
    Values column, gradients;
    for (int row = 0; row < kRows; ++row) {
      column.push_back(x[at(row, kChannels, static_cast<int>(c))]);
      gradients.push_back(dy[at(row, kChannels, static_cast<int>(c))]);
    }
    double sum, dot, total, square;
    batch_norm_backward_sums(kRows, 1, column.data(), gradients.data(), &mean[c], &sum, &dot);
    channel_moments(kRows, 1, column.data(), &total, &square);
    CHECK(sum == sums[c]);
    CHECK(dot == dots[c]);
    CHECK(total == totals[c]);
    CHECK(square == squares[c]);
  }
}

TEST_CASE("NaN reaches its channel's sums and no other", "[normalization]") {
  Values x = random_values(5 * 18, 1);
  x[at(3, 18, 17)] = kNan;
  std::vector<double> sums(18), squares(18);
  channel_moments(5, 18, x.data(), sums.data(), squares.data());
  for (std::size_t c = 0; c < 18; ++c) {
    CHECK(std::isnan(sums[c]) == (c == 17));
    CHECK(std::isnan(squares[c]) == (c == 17));
  }
}

TEST_CASE("a variance from moments is as exact as the floats", "[normalization]") {
  constexpr int kCount = 1000;
  const float offset = GENERATE(0.0f, 10.0f, 1000.0f);
  Values x = random_values(kCount, 1);
  for (float& value : x) value += offset;
  double sum, squares, mean = 0, variance = 0;
  channel_moments(kCount, 1, x.data(), &sum, &squares);
  for (const float value : x) mean += static_cast<double>(value) / kCount;
  for (const float value : x) variance += std::pow(static_cast<double>(value) - mean, 2) / kCount;
  CHECK(variance_of(sum, squares, kCount) == Approx(variance).epsilon(1e-8));
}

TEST_CASE("a first row that is an outlier leaves the variance the digits that its bound promises",
          "[normalization]") {
  const int count = GENERATE(10, 1000, 1000000);
  const float ratio = GENERATE(0.0f, 10.0f, 1.0e3f, 1.0e6f), offset = GENERATE(0.0f, 100.0f);
  const int lines = GENERATE(1, 2);  // of workers: the second one has no outlier
  Values x = random_values(count, 1);
  for (float& value : x) value = value * std::sqrt(3.0f) + offset;  // of deviation 1
  x[0] += ratio;
  double sum = 0, squares = 0, mean = 0, variance = 0;
  for (int line = 0; line < lines; ++line) {
    const int first = count / lines * line;
    double line_sum, line_squares;
    channel_moments(count / lines, 1, x.data() + first, &line_sum, &line_squares);
    sum += line_sum;
    squares += line_squares;
  }
  for (const float value : x) mean += static_cast<double>(value) / count;
  for (const float value : x) variance += std::pow(static_cast<double>(value) - mean, 2) / count;
  const double error = std::abs(variance_of(sum, squares, count) / variance - 1);
  INFO(count << " rows, outlier " << ratio << ", offset " << offset << ", lines " << lines << ": " << error);
  CHECK(error <= std::ldexp(std::sqrt(count + 1.0), -23));
  CHECK(error < (ratio > 1.0e3f ? 1.0e-5 : 2.0e-7));
}

TEST_CASE("the variance of equal values is not negative", "[normalization]") {
  const Values x(1000, 1234.567f);
  double sum, squares;
  channel_moments(1000, 1, x.data(), &sum, &squares);
  CHECK(variance_of(sum, squares, 1000) >= 0);
  CHECK(variance_of(sum, squares, 1000) < 1e-9);
}

TEST_CASE("layer and RMS normalisation's passes equal plain loops", "[normalization]") {
  const bool centers = GENERATE(true, false);
  const auto extents = GENERATE(table<int, int>({{0, 3}, {1, 1}, {300, 5}, {3, 128}, {140, 77}}));
  const int rows = std::get<0>(extents), columns = std::get<1>(extents);
  const Values x = random_values(rows * columns, 1, 3), dy = random_values(rows * columns, 2),
               weight = random_values(columns, 3), bias = random_values(columns, 4);
  Values y(x.size()), dx = dy, mean(static_cast<std::size_t>(rows)), inverse(mean.size()),
                      dweight(weight.size()), dbias(weight.size());
  float* const means = centers ? mean.data() : nullptr;
  layer_norm(rows, columns, x.data(), weight.data(), bias.data(), 1e-3f, y.data(), means, inverse.data());
  layer_norm_gradients(rows, columns, x.data(), dy.data(), means, inverse.data(), dweight.data(),
                       dbias.data());
  layer_norm_backward(rows, columns, x.data(), dx.data(), means, inverse.data(), weight.data(), dx.data());

  Values expected_y(x.size()), expected_dx(x.size());
  std::vector<double> weights(weight.size()), biases(weight.size());
  for (int row = 0; row < rows; ++row) {
    double middle = 0, square = 0, gradients = 0, dots = 0;
    const auto distance = [&](int c) { return static_cast<double>(x[at(row, columns, c)]) - middle; };
    const auto gradient = [&](int c) {
      return static_cast<double>(dy[at(row, columns, c)]) *
             static_cast<double>(weight[static_cast<std::size_t>(c)]);
    };
    double sum = 0;
    for (int c = 0; c < columns; ++c) sum += distance(c);
    middle = centers ? sum / columns : 0;
    for (int c = 0; c < columns; ++c) square += distance(c) * distance(c);
    const double factor = 1 / std::sqrt(square / columns + 1e-3);
    for (int c = 0; c < columns; ++c) {
      if (centers) gradients += gradient(c) / columns;
      dots += gradient(c) * distance(c) * factor / columns;
    }
    for (int c = 0; c < columns; ++c) {
      const auto column = static_cast<std::size_t>(c);
      const double normalised = distance(c) * factor;
      expected_y[at(row, columns, c)] = static_cast<float>(normalised * static_cast<double>(weight[column]) +
                                                           static_cast<double>(bias[column]));
      expected_dx[at(row, columns, c)] =
          static_cast<float>(factor * (gradient(c) - gradients - normalised * dots));
      weights[column] += static_cast<double>(dy[at(row, columns, c)]) * normalised;
      biases[column] += static_cast<double>(dy[at(row, columns, c)]);
    }
  }
  CHECK(difference(y, expected_y) < 1e-5);
  CHECK(difference(dx, expected_dx) < 1e-5);
  CHECK(difference(dweight, Values(weights.begin(), weights.end())) < 1e-5);
  CHECK(difference(dbias, Values(biases.begin(), biases.end())) < 1e-5);
}
