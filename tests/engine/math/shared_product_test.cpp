#include "engine/math/shared_product.h"

#include <array>
#include <thread>

#include "engine/core/sum_tree.h"
#include "engine/math/convolution.h"
#include "engine/math/engine.h"
#include "engine/math/gemm.h"
#include "engine/math/precision.h"
#include "engine/math/tree_gemm.h"
#include "engine/system/shared_work.h"
#include "engine/system/thread_pool.h"
#include "tests/engine/math/values.h"

using namespace trainer;

namespace {

/// Calls `compute` on one of three threads while the others wait.
template <class Compute>
void with_helpers(const Compute& compute) {
  static ThreadPool pool(3);
  pool.run([&](int worker) {
    if (worker != 1) return;
    while (waiting_helpers() < 2) std::this_thread::yield();
    compute();
  });
}

}  // namespace

TEST_CASE("work is divided only if threads wait and it takes long enough", "[shared]") {
  constexpr std::int64_t kLong = 1 << 26;
  CHECK(parts_of_work(kLong, 100) == 1);
  with_helpers([] {
    CHECK(parts_of_work(kLong, 100) == 3);
    CHECK(parts_of_work(kLong, 2) == 2);
    CHECK(parts_of_work(1000, 100) == 1);
  });
}

TEST_CASE("a product that threads share has the bits of one thread's", "[shared]") {
  const auto [m, n, k] = GENERATE(table<std::int64_t, std::int64_t, std::int64_t>(
      {{128, 384, 128}, {384, 100, 130}, {33, 517, 200}, {1, 4096, 1024}, {2000, 7, 300}}));
  const Transpose a_transposed = GENERATE(Transpose::no, Transpose::yes),
                  b_transposed = GENERATE(Transpose::no, Transpose::yes);
  const Precision precision = GENERATE(Precision::float32, Precision::bf16);
  CAPTURE(m, n, k, a_transposed == Transpose::yes, b_transposed == Transpose::yes);
  choose_engine(Engine::native);
  choose_precision(precision);
  const Values a = random_values(m * k, 1), b = random_values(k * n, 2), c = random_values(m * n, 3);
  const auto multiply = [&](Values& result) {
    gemm(a_transposed, b_transposed, m, n, k, a.data(), a_transposed == Transpose::yes ? m : k, b.data(),
         b_transposed == Transpose::yes ? k : n, 1, result.data(), n);
  };
  Values alone = c, shared = c;
  multiply(alone);
  with_helpers([&] { multiply(shared); });
  choose_precision(Precision::float32);
  CHECK(same_bits(alone, shared));
}

TEST_CASE("a product along a tree that threads share has the bits of one thread's", "[shared]") {
  const auto [m, n] = GENERATE(table<std::int64_t, std::int64_t>({{300, 100}, {70, 512}}));
  choose_engine(Engine::native);
  const std::array<std::int64_t, 5> ends{16, 32, 40, 56, 64};
  const Values a = random_values(ends.back() * m, 1), b = random_values(ends.back() * n, 2);
  const SumTree tree = SumTree::of_leaves(8, {0, 5});
  const auto multiply = [&](Values& result) {
    std::vector<float*> roots(tree.roots().size());
    for (std::size_t root = 0; root < roots.size(); ++root)
      roots[root] = result.data() + static_cast<std::int64_t>(root) * m * n;
    return gemm_along_tree(tree, ends, m, n, a.data(), m, b.data(), n, roots, n);
  };
  Values alone(tree.roots().size() * static_cast<std::size_t>(m * n)), shared = alone;
  REQUIRE(multiply(alone));
  with_helpers([&] { multiply(shared); });
  CHECK(same_bits(alone, shared));
}

TEST_CASE("a convolution that threads share has the bits of one thread's", "[shared]") {
  // height, width, channels, filters, kernel, stride, padding, dilation, groups
  const ConvolutionGeometry g =
      GENERATE(ConvolutionGeometry{32, 32, 16, 16, 3, 3, 1, 1, 1, 1},
               ConvolutionGeometry{32, 32, 3, 64, 3, 3, 1, 1, 1, 1},
               ConvolutionGeometry{8, 8, 64, 64, 3, 3, 1, 1, 1, 1},
               ConvolutionGeometry{17, 19, 32, 40, 3, 3, 2, 2, 1, 1},
               ConvolutionGeometry{40, 30, 24, 36, 5, 5}, ConvolutionGeometry{14, 14, 256, 128, 1, 1, 2, 2},
               ConvolutionGeometry{16, 16, 128, 64, 3, 3, 1, 1, 1, 1, 1, 1, 2},
               ConvolutionGeometry{64, 48, 30, 33, 3, 3, 1, 1, 2, 2, 2, 2});
  const Precision precision = GENERATE(Precision::float32, Precision::bf16);
  CAPTURE(g.height, g.width, g.channels, g.filters);
  choose_engine(Engine::native);
  choose_precision(precision);
  const auto convolution = make_convolution(g);
  const std::int64_t images = GENERATE(1, 3);
  const std::int64_t in = images * g.height * g.width * g.channels,
                     out = images * g.out_height() * g.out_width() * g.filters,
                     weights = g.kernel_h * g.kernel_w * (g.channels / g.groups) * g.filters;
  const Values x = random_values(in, 1), w = random_values(weights, 2), bias = random_values(g.filters, 3),
               dy = random_values(out, 4);
  Values scratch(static_cast<std::size_t>(convolution->scratch_size()));
  const auto compute = [&](Values& results) {
    float* const y = results.data();
    convolution->forward(images, x.data(), w.data(), bias.data(), Activation::relu, y, scratch.data());
    convolution->backward_data(images, dy.data(), w.data(), y + out, scratch.data());
    convolution->backward_weights(images, x.data(), dy.data(), y + out + in, nullptr, false, scratch.data());
  };
  Values alone(static_cast<std::size_t>(out + in + weights)), shared = alone;
  compute(alone);
  with_helpers([&] { compute(shared); });
  choose_precision(Precision::float32);
  CHECK(same_bits(alone, shared));
}
