#include "engine/core/bfloat16.h"

#include "engine/core/error.h"
#include "engine/math/convolution.h"
#include "engine/math/engine.h"
#include "engine/math/gemm.h"
#include "engine/math/kernels/kernels.h"
#include "engine/math/orthogonalize.h"
#include "engine/math/precision.h"
#include "tests/engine/math/asked_engine.h"
#include "tests/engine/math/values.h"

using namespace trainer;

namespace {

class Bfloat16Products {
 public:
  Bfloat16Products() {
    choose_engine(Engine::automatic);  // not what an earlier test has left
    choose_precision(Precision::bf16);
  }
  ~Bfloat16Products() { choose_precision(Precision::float32); }
};

float flushed(float value) { return std::fabs(value) < 0x1p-126F ? std::copysign(0.0f, value) : value; }
float rounded(float value) { return rounded_to_bfloat16(flushed(value)); }

Values rounded(Values values) {
  for (float& value : values) value = rounded(value);
  return values;
}

/// What VDPBF16PS does: the odd product first, each sum rounded and flushed.
float add_pair(float a_even, float a_odd, float b_even, float b_odd, float sum) {
  sum = flushed(std::fma(a_odd, b_odd, flushed(sum)));
  return flushed(std::fma(a_even, b_even, sum));
}

struct Extents {
  std::int64_t m, n, k;
};

/// C = A B + beta C, a chain over pairs along k for each element.
Values chains(const Extents& e, Transpose ta, Transpose tb, const Values& a, const Values& b, float beta,
              const Values& c) {
  const Values left = rounded(a), right = rounded(b);
  const auto a_at = [&](std::int64_t row, std::int64_t k) {
    return k < e.k ? left[static_cast<std::size_t>(ta == Transpose::no ? row * e.k + k : k * e.m + row)]
                   : 0.0f;
  };
  const auto b_at = [&](std::int64_t k, std::int64_t column) {
    return k < e.k
               ? right[static_cast<std::size_t>(tb == Transpose::no ? k * e.n + column : column * e.k + k)]
               : 0.0f;
  };
  Values result = c;
  for (std::int64_t row = 0; row < e.m; ++row)
    for (std::int64_t column = 0; column < e.n; ++column) {
      float& sum = result[static_cast<std::size_t>(row * e.n + column)];
      sum = beta == 0.0f ? 0.0f : beta * sum;
      for (std::int64_t k = 0; k < e.k; k += 2)
        sum = add_pair(a_at(row, k), a_at(row, k + 1), b_at(k, column), b_at(k + 1, column), sum);
    }
  return result;
}

}  // namespace

TEST_CASE("products of bfloat16 are chains of pairs, bit for bit", "[bfloat16]") {
  if (openblas_is_asked()) return;
  const Bfloat16Products products;
  const auto [m, n, k] = GENERATE(Extents{1, 1, 1}, Extents{1, 1, 2}, Extents{5, 3, 41}, Extents{33, 65, 300},
                                  Extents{70, 48, 17}, Extents{9, 130, 1301}, Extents{200, 64, 9},
                                  Extents{900, 20, 640}, Extents{128, 96, 784});
  const Transpose ta = GENERATE(Transpose::no, Transpose::yes), tb = GENERATE(Transpose::no, Transpose::yes);
  const float beta = GENERATE(0.0f, 1.0f, -0.75f);
  CAPTURE(m, n, k, ta, tb, beta);
  const Values a = random_values(m * k, 1), b = random_values(k * n, 2), c = random_values(m * n, 3);
  Values actual = beta == 0.0f ? filled(m * n, kNan) : c;
  gemm(ta, tb, m, n, k, a.data(), ta == Transpose::no ? k : m, b.data(), tb == Transpose::no ? n : k, beta,
       actual.data(), n);
  CHECK(same_bits(actual, chains({m, n, k}, ta, tb, a, b, beta, c)));
}

TEST_CASE("products of bfloat16 round to nearest even, and flush what is subnormal", "[bfloat16]") {
  if (openblas_is_asked()) return;
  const Bfloat16Products products;
  const auto product = [](float a, float b, float c) {
    gemm(Transpose::no, Transpose::no, 1, 1, 1, &a, 1, &b, 1, 1, &c, 1);
    return c;
  };
  CHECK(product(1 + 0x1p-8F, 1, 0) == 1);                       // a tie, to even
  CHECK(product(1 + 0x3p-8F, 1, 0) == 1 + 0x1p-6F);             // a tie, to even
  CHECK(product(1 + 0x1p-8F + 0x1p-23F, 1, 0) == 1 + 0x1p-7F);  // above a tie
  CHECK(product(-3e38F, 2, 0) == -kInfinity);
  CHECK(std::isnan(product(kNan, 1, 0)));
  CHECK(product(0x1p-127F, 0x1p100F, 0) == 0);            // a factor
  CHECK(product(0x1p-100F, 0x1p-27F, 0) == 0);            // a product
  CHECK(product(0x1p-126F, 1, -0x1p-127F) == 0x1p-126F);  // what it is added to
  CHECK(product(0x1.8p-126F, 1, -0x1p-126F) == 0);        // a sum
}

TEST_CASE("sums of bfloat16 products may be cut at even places", "[bfloat16]") {
  if (openblas_is_asked()) return;
  const Bfloat16Products products;
  constexpr std::int64_t kRows = 40, kColumns = 50, kDepth = 1000, kCut = 334;
  const Values a = random_values(kRows * kDepth, 1), b = random_values(kDepth * kColumns, 2);
  Values whole = filled(kRows * kColumns, 0), cut = whole;
  gemm(Transpose::no, Transpose::no, kRows, kColumns, kDepth, a.data(), kDepth, b.data(), kColumns, 0,
       whole.data(), kColumns);
  for (const auto& [first, depth] : {std::pair{std::int64_t{0}, kCut}, {kCut, kDepth - kCut}})
    gemm(Transpose::no, Transpose::no, kRows, kColumns, depth, a.data() + first, kDepth,
         b.data() + first * kColumns, kColumns, first == 0 ? 0.0f : 1.0f, cut.data(), kColumns);
  CHECK(same_bits(whole, cut));
}

TEST_CASE("convolutions of bfloat16 equal the plain loops on rounded factors", "[bfloat16]") {
  if (openblas_is_asked()) return;
  const Bfloat16Products products;
  // height, width, channels, filters, kernel, stride, padding, dilation, groups
  const auto g =
      GENERATE(ConvolutionGeometry{28, 28, 1, 16, 5, 5}, ConvolutionGeometry{12, 12, 16, 32, 5, 5},
               ConvolutionGeometry{8, 8, 64, 64, 3, 3, 1, 1, 1, 1},
               ConvolutionGeometry{9, 7, 16, 32, 3, 3, 2, 2, 1, 1}, ConvolutionGeometry{7, 7, 64, 48, 1, 1},
               ConvolutionGeometry{14, 14, 6, 9, 5, 5}, ConvolutionGeometry{1, 1, 1, 1, 1, 1},
               ConvolutionGeometry{7, 6, 5, 7, 2, 3, 1, 2, 1, 0},
               ConvolutionGeometry{11, 13, 4, 6, 3, 2, 2, 3, 2, 1, 2, 3},
               ConvolutionGeometry{6, 6, 8, 12, 3, 3, 1, 1, 1, 1, 1, 1, 4},
               ConvolutionGeometry{6, 6, 32, 64, 3, 3, 1, 1, 1, 1, 1, 1, 2},
               ConvolutionGeometry{7, 7, 24, 24, 3, 3, 1, 1, 1, 1, 1, 1, 24},
               ConvolutionGeometry{9, 9, 7, 20, 7, 7, 2, 2, 3, 3},
               ConvolutionGeometry{20, 3, 16, 16, 9, 1, 1, 1, 4, 0});
  CAPTURE(g.height, g.width, g.channels, g.filters, g.kernel_h, g.groups);
  constexpr std::int64_t kImages = 3;
  const auto fast = make_convolution(g), plain = reference::make_convolution(g);
  // Each channel by itself is memory's work; pairs need an even number.
  const bool is_depthwise = g.groups == g.channels && g.groups > 1;
  const bool is_direct = fast->kernel().starts_with("direct");
  const bool rounds_inputs = !is_depthwise && (!is_direct || g.channels / g.groups % 2 == 0);
  const bool rounds_filters = !is_depthwise && (!is_direct || g.filters / g.groups % 2 == 0);
  const auto rounded_if = [](bool rounds, const Values& values) { return rounds ? rounded(values) : values; };
  const Values x = random_values(kImages * g.height * g.width * g.channels, 1),
               w = random_values(g.kernel_h * g.kernel_w * (g.channels / g.groups) * g.filters, 2),
               bias = random_values(g.filters, 3),
               dy = random_values(kImages * g.out_height() * g.out_width() * g.filters, 4);
  Values scratch = filled(fast->scratch_size(), kNan);

  Values y = filled(std::ssize(dy), kNan), expected = y;
  fast->forward(kImages, x.data(), w.data(), bias.data(), Activation::relu, y.data(), scratch.data());
  plain->forward(kImages, rounded_if(rounds_inputs, x).data(), rounded_if(rounds_inputs, w).data(),
                 bias.data(), Activation::relu, expected.data(), nullptr);
  CHECK(difference(y, expected) < 1e-5);

  Values dx = filled(std::ssize(x), kNan), expected_dx = dx;
  fast->backward_data(kImages, dy.data(), w.data(), dx.data(), scratch.data());
  plain->backward_data(kImages, rounded_if(rounds_filters, dy).data(), rounded_if(rounds_filters, w).data(),
                       expected_dx.data(), nullptr);
  CHECK(difference(dx, expected_dx) < 1e-5);

  for (const bool accumulate : {false, true}) {
    Values dw = filled(std::ssize(w), accumulate ? 2 : kNan), expected_dw = dw, dbias = bias,
           expected_dbias = bias;
    fast->backward_weights(kImages, x.data(), dy.data(), dw.data(), dbias.data(), accumulate, scratch.data());
    plain->backward_weights(kImages, rounded_if(!is_depthwise, x).data(),
                            rounded_if(!is_depthwise, dy).data(), expected_dw.data(), nullptr, accumulate,
                            nullptr);
    plain->backward_weights(kImages, x.data(), dy.data(), Values(w.size()).data(), expected_dbias.data(),
                            accumulate, nullptr);
    CHECK(difference(dw, expected_dw) < 1e-5);
    CHECK(difference(dbias, expected_dbias) < 1e-5);
  }
}

TEST_CASE("updates keep float32 where products are of bfloat16", "[bfloat16]") {
  if (openblas_is_asked()) return;
  constexpr std::int64_t kRows = 12, kColumns = 20;
  Values x = random_values(kRows * kColumns, 1),
         scratch = filled(orthogonalize_scratch(kRows, kColumns), kNan);
  Values expected = x;
  choose_engine(Engine::native);
  orthogonalize(kRows, kColumns, 5, expected.data(), scratch);
  {
    const Bfloat16Products products;
    orthogonalize(kRows, kColumns, 5, x.data(), scratch);
  }
  CHECK(same_bits(x, expected));
}

TEST_CASE("the header and the checkpoint name the precision", "[bfloat16]") {
  if (openblas_is_asked()) {
    CHECK_THROWS_AS(choose_precision(Precision::bf16), Error);
    CHECK(precision_in_use() == Precision::float32);
    return;
  }
  const Bfloat16Products products;
  CHECK(engine_text().ends_with(", bf16)"));
  CHECK(rounding_text() == engine_text());
  CHECK(gemm_is_chained());
}
