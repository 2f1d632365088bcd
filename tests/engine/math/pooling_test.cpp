#include "engine/math/pooling.h"

#include "tests/engine/math/values.h"

using namespace trainer;

namespace {

const PoolingGeometry kGeometries[] = {
    {4, 4, 1},
    {24, 24, 16},
    {8, 8, 32},
    {5, 7, 3},
    {6, 6, 17, 3, 3, 2, 2, 1, 1},
    {7, 5, 20, 2, 2, 1, 1},
    {7, 7, 5, 3, 2, 1, 2, 1, 0},
    {4, 4, 64, 4, 4, 4, 4},
    {9, 9, 2, 2, 2, 3, 3},
    {5, 5, 33, 2, 2, 2, 2, 1, 1},
    {3, 40, 1, 1, 16, 1, 8},
    {1, 1, 4, 1, 1, 1, 1},
};

/// Small whole values, so that equal ones compete.
Values with_ties(std::int64_t count, unsigned seed) {
  Values values = random_values(count, seed, 4);
  for (float& value : values) value = std::round(value);
  return values;
}

}  // namespace

TEST_CASE("pooling's extents follow the usual formula and are 0 when the window does not fit", "[pooling]") {
  CHECK(PoolingGeometry{.height = 28, .width = 27}.out_height() == 14);
  CHECK(PoolingGeometry{.height = 28, .width = 27}.out_width() == 13);
  CHECK(PoolingGeometry{.height = 1, .width = 2}.out_height() == 0);
  CHECK(PoolingGeometry{.height = 7, .size_h = 3, .stride_h = 2, .pad_h = 1}.out_height() == 4);
}

TEST_CASE("max pooling and its gradient equal the reference exactly, ties and NaN included", "[pooling]") {
  const std::size_t which = GENERATE(range<std::size_t>(0, std::size(kGeometries)));
  const std::int64_t images = GENERATE(0, 1, 3);
  const bool poisoned = GENERATE(false, true), after_relu = GENERATE(false, true);
  const PoolingGeometry& g = kGeometries[which];
  const std::int64_t out = images * g.out_height() * g.out_width() * g.channels;
  Values x = with_ties(images * g.height * g.width * g.channels, 1);
  if (poisoned)
    for (std::size_t i = 0; i < x.size(); i += 5) x[i] = kNan;
  const Values dy = random_values(out, 2);
  Values y = filled(out, 7), expected = y, evaluated = y, dx = filled(std::ssize(x), 7), expected_dx = dx;
  std::vector<std::uint8_t> winner(y.size(), 99), expected_winner = winner;
  max_pool(g, images, x.data(), y.data(), winner.data(), after_relu);
  max_pool(g, images, x.data(), evaluated.data(), nullptr, after_relu);
  reference::max_pool(g, images, x.data(), expected.data(), expected_winner.data(), after_relu);
  CHECK(difference(y, expected) == 0);
  CHECK(difference(evaluated, expected) == 0);
  CHECK(winner == expected_winner);
  max_pool_backward(g, images, dy.data(), winner.data(), dx.data());
  reference::max_pool_backward(g, images, dy.data(), winner.data(), expected_dx.data());
  CHECK(difference(dx, expected_dx) < 1e-6);
}

TEST_CASE("average pooling and its gradient equal the reference", "[pooling]") {
  const std::size_t which = GENERATE(range<std::size_t>(0, std::size(kGeometries)));
  const std::int64_t images = GENERATE(0, 1, 3);
  const bool include_padding = GENERATE(false, true);
  const PoolingGeometry& g = kGeometries[which];
  const std::int64_t out = images * g.out_height() * g.out_width() * g.channels;
  const Values x = random_values(images * g.height * g.width * g.channels, 1), dy = random_values(out, 2);
  Values y = filled(out, 7), expected = y, dx = filled(std::ssize(x), 7), expected_dx = dx;
  average_pool(g, images, x.data(), include_padding, y.data());
  reference::average_pool(g, images, x.data(), include_padding, expected.data());
  CHECK(difference(y, expected) < 1e-6);
  average_pool_backward(g, images, dy.data(), include_padding, dx.data());
  reference::average_pool_backward(g, images, dy.data(), include_padding, expected_dx.data());
  CHECK(difference(dx, expected_dx) < 1e-6);
}
