#include "engine/math/convolution.h"

#include "tests/engine/math/values.h"

using namespace trainer;

namespace {

// height, width, channels, filters, kernel, stride, padding, dilation, groups
const ConvolutionGeometry kGeometries[] = {
    {28, 28, 1, 16, 5, 5},
    {12, 12, 16, 32, 5, 5},
    {9, 9, 16, 16, 3, 3, 1, 1, 1, 1},
    {8, 8, 32, 32, 3, 3, 1, 1, 1, 1},
    {8, 8, 64, 64, 3, 3, 1, 1, 1, 1},
    {9, 7, 16, 32, 3, 3, 2, 2, 1, 1},
    {8, 8, 16, 32, 1, 1, 2, 2},
    {7, 7, 64, 48, 1, 1},
    {3, 32, 16, 20, 3, 3, 1, 1, 1, 1},
    {16, 16, 5, 16, 3, 3, 1, 1, 1, 1},
    {7, 32, 3, 16, 5, 5},
    {14, 14, 6, 9, 5, 5},
    {6, 40, 3, 16, 3, 3, 1, 1, 1, 1},
    {10, 11, 3, 10, 3, 3, 1, 1, 1, 1},
    {5, 5, 1, 1, 3, 3},
    {1, 1, 1, 1, 1, 1},
    {7, 6, 5, 7, 2, 3, 1, 2, 1, 0},
    {11, 13, 4, 6, 3, 2, 2, 3, 2, 1, 2, 3},
    {6, 6, 8, 12, 3, 3, 1, 1, 1, 1, 1, 1, 4},
    {6, 6, 32, 64, 3, 3, 1, 1, 1, 1, 1, 1, 2},
    {7, 7, 24, 24, 3, 3, 1, 1, 1, 1, 1, 1, 24},
    {7, 8, 33, 33, 3, 3, 2, 2, 1, 1, 1, 1, 33},
    {5, 9, 99, 99, 3, 5, 2, 1, 1, 2, 2, 1, 99},
    {6, 6, 6, 12, 3, 3, 1, 1, 1, 1, 1, 1, 6},
    {4, 4, 2, 3, 3, 3, 1, 1, 3, 4},
    {4, 4, 3, 5, 1, 1, 1, 1, 1, 1},
    {3, 3, 2, 2, 4, 4, 1, 1, 2, 2},
    {9, 9, 7, 20, 7, 7, 2, 2, 3, 3},
    {20, 3, 16, 16, 9, 1, 1, 1, 4, 0},
    {14, 14, 40, 72, 3, 3, 1, 1, 1, 1},
    // Pixels of x or dy that compete for sets of the cache.
    {5, 6, 64, 128, 3, 3},
    {5, 5, 128, 128, 3, 3, 1, 1, 1, 1, 1, 1, 2},
    {6, 5, 32, 64, 3, 3, 2, 1, 1, 1},
};

struct Problem {
  explicit Problem(const ConvolutionGeometry& g, std::int64_t images)
      : x(random_values(images * g.height * g.width * g.channels, 1)),
        w(random_values(g.kernel_h * g.kernel_w * (g.channels / g.groups) * g.filters, 2)),
        bias(random_values(g.filters, 3)),
        dy(random_values(images * g.out_height() * g.out_width() * g.filters, 4)) {}
  Values x, w, bias, dy;
};

}  // namespace

TEST_CASE("a convolution's extents follow the usual formula", "[convolution]") {
  CHECK(ConvolutionGeometry{.height = 28, .kernel_h = 5}.out_height() == 24);
  CHECK(ConvolutionGeometry{.width = 32, .kernel_w = 3, .stride_w = 2, .pad_w = 1}.out_width() == 16);
  CHECK(ConvolutionGeometry{.width = 9, .kernel_w = 3, .dilation_w = 4}.out_width() == 1);
  CHECK(ConvolutionGeometry{.width = 8, .kernel_w = 3, .dilation_w = 4}.out_width() == 0);
}

TEST_CASE("every convolution equals the plain loops in all three directions", "[convolution]") {
  const std::size_t which = GENERATE(range<std::size_t>(0, std::size(kGeometries)));
  const ConvolutionGeometry& g = kGeometries[which];
  CAPTURE(which);
  const std::int64_t images = GENERATE(0, 1, 3);
  const auto fast = make_convolution(g), plain = reference::make_convolution(g);
  CAPTURE(fast->kernel());
  const Problem p(g, images);
  Values scratch = filled(fast->scratch_size(), kNan);

  for (const Activation f : {Activation::none, Activation::relu, Activation::tanh}) {
    const float* bias = f == Activation::tanh ? nullptr : p.bias.data();
    Values y = filled(std::ssize(p.dy), kNan), expected = y;
    fast->forward(images, p.x.data(), p.w.data(), bias, f, y.data(), scratch.data());
    plain->forward(images, p.x.data(), p.w.data(), bias, f, expected.data(), nullptr);
    CHECK(difference(y, expected) < 3e-5);  // tanh magnifies what is small beside other sums
  }

  Values dx = filled(std::ssize(p.x), kNan), expected_dx = dx;
  fast->backward_data(images, p.dy.data(), p.w.data(), dx.data(), scratch.data());
  plain->backward_data(images, p.dy.data(), p.w.data(), expected_dx.data(), nullptr);
  CHECK(difference(dx, expected_dx) < 1e-5);

  for (const bool accumulate : {false, true}) {
    Values dw = accumulate ? p.w : filled(std::ssize(p.w), kNan), expected_dw = dw;
    Values dbias = accumulate ? p.bias : filled(g.filters, kNan), expected_dbias = dbias;
    fast->backward_weights(images, p.x.data(), p.dy.data(), dw.data(), dbias.data(), accumulate,
                           scratch.data());
    plain->backward_weights(images, p.x.data(), p.dy.data(), expected_dw.data(), expected_dbias.data(),
                            accumulate, nullptr);
    CHECK(difference(dw, expected_dw) < 1e-5);
    CHECK(difference(dbias, expected_dbias) < 1e-5);
    Values alone = accumulate ? p.w : dw;
    fast->backward_weights(images, p.x.data(), p.dy.data(), alone.data(), nullptr, accumulate,
                           scratch.data());
    CHECK(same_bits(alone, dw));
  }
}

TEST_CASE("an image's results have the same bits alone and among others", "[convolution]") {
  const std::size_t which = GENERATE(range<std::size_t>(0, std::size(kGeometries)));
  const ConvolutionGeometry& g = kGeometries[which];
  CAPTURE(which);
  constexpr std::int64_t kImages = 3;
  const auto convolution = make_convolution(g);
  const Problem p(g, kImages);
  Values scratch = filled(convolution->scratch_size(), kNan);
  Values y(p.dy.size()), dx(p.x.size());
  convolution->forward(kImages, p.x.data(), p.w.data(), p.bias.data(), Activation::tanh, y.data(),
                       scratch.data());
  convolution->backward_data(kImages, p.dy.data(), p.w.data(), dx.data(), scratch.data());
  const std::size_t in = p.x.size() / kImages, out = p.dy.size() / kImages;
  for (std::size_t image = 0; image < kImages; ++image) {
    Values one_y(out), one_dx(in);
    convolution->forward(1, &p.x[image * in], p.w.data(), p.bias.data(), Activation::tanh, one_y.data(),
                         scratch.data());
    convolution->backward_data(1, &p.dy[image * out], p.w.data(), one_dx.data(), scratch.data());
    CHECK(same_bits(one_y.data(), &y[image * out], out));
    CHECK(same_bits(one_dx.data(), &dx[image * in], in));
  }
}

TEST_CASE("a NaN weight, input or gradient is seen in every result that uses it", "[convolution]") {
  const std::size_t which = GENERATE(range<std::size_t>(0, std::size(kGeometries)));
  const ConvolutionGeometry& g = kGeometries[which];
  CAPTURE(which);
  const auto fast = make_convolution(g), plain = reference::make_convolution(g);
  Problem p(g, 2);
  p.x[p.x.size() / 2] = kNan;
  Values scratch(static_cast<std::size_t>(fast->scratch_size()));
  Values y(p.dy.size()), expected = y, dw(p.w.size()), expected_dw = dw;
  fast->forward(2, p.x.data(), p.w.data(), p.bias.data(), Activation::relu, y.data(), scratch.data());
  plain->forward(2, p.x.data(), p.w.data(), p.bias.data(), Activation::relu, expected.data(), nullptr);
  fast->backward_weights(2, p.x.data(), p.dy.data(), dw.data(), nullptr, false, scratch.data());
  plain->backward_weights(2, p.x.data(), p.dy.data(), expected_dw.data(), nullptr, false, nullptr);
  for (std::size_t i = 0; i < y.size(); ++i)
    if (std::isnan(expected[i]) != std::isnan(y[i])) FAIL("y at " << i);
  for (std::size_t i = 0; i < dw.size(); ++i)
    if (std::isnan(expected_dw[i]) && !std::isnan(dw[i])) FAIL("dw at " << i);
}
