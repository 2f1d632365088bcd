// Prints the speed of the kernels on one thread, as CSV: what, pass, kernel, milliseconds, rate, unit. Each
// row is the best of several runs, since other programs disturb. `kernels-benchmark products`: the matrix
// products alone.

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "engine/math/convolution.h"
#include "engine/math/elementwise.h"
#include "engine/math/engine.h"
#include "engine/math/gemm.h"
#include "engine/math/normalization.h"
#include "engine/math/pooling.h"
#include "engine/math/square_sum.h"
#include "engine/math/updates.h"

using namespace trainer;

namespace {

/// Memory from the beginning of a cache line on, as networks have it.
template <class T>
struct LineAllocator {
  using value_type = T;
  static constexpr std::align_val_t kLine{64};
  T* allocate(std::size_t count) { return static_cast<T*>(::operator new(count * sizeof(T), kLine)); }
  void deallocate(T* memory, std::size_t) { ::operator delete(memory, kLine); }
  bool operator==(const LineAllocator&) const = default;
};

using Values = std::vector<float, LineAllocator<float>>;

Values some_values(std::int64_t count) {
  Values values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * 7919 % 2003) / 1001 - 1;
  return values;
}

double seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

struct Kernel {
  std::string name;
  std::function<void()> call;
};

/// The kernels take turns. `work`: floating-point operations or bytes of one call.
void measure(const std::string& what, const std::string& pass, double work, const char* unit,
             const std::vector<Kernel>& kernels) {
  constexpr double kSeconds = 0.15;
  std::vector<double> best(kernels.size(), 1e30);
  for (const Kernel& kernel : kernels) kernel.call();
  const double end = seconds() + kSeconds * static_cast<double>(kernels.size());
  while (seconds() < end)
    for (std::size_t kernel = 0; kernel < kernels.size(); ++kernel) {
      // Calls too short for the clock are timed together.
      const int repeats = std::max(1, static_cast<int>(1e-3 / std::min(best[kernel], 1e-3)));
      const double start = seconds();
      for (int i = 0; i < repeats; ++i) kernels[kernel].call();
      best[kernel] = std::min(best[kernel], (seconds() - start) / repeats);
    }
  for (std::size_t kernel = 0; kernel < kernels.size(); ++kernel)
    fmt::print("{},{},{},{:.4f},{:.1f},{}\n", what, pass, kernels[kernel].name, best[kernel] * 1e3,
               work / best[kernel] / 1e9, unit);
  std::fflush(stdout);
}

void measure(const std::string& what, const std::string& pass, const std::string& kernel, double work,
             const char* unit, const std::function<void()>& call) {
  measure(what, pass, work, unit, {{kernel, call}});
}

void measure_gemm(Transpose a_transposed, Transpose b_transposed, std::int64_t m, std::int64_t n,
                  std::int64_t k) {
  const Values a = some_values(m * k), b = some_values(k * n);
  Values c = some_values(m * n);
  const auto letter = [](Transpose transpose) { return transpose == Transpose::yes ? 'T' : 'N'; };
  const std::int64_t lda = a_transposed == Transpose::yes ? m : k;
  const std::int64_t ldb = b_transposed == Transpose::yes ? k : n;
  const auto call = [&](const auto& product) {
    return [&, product] {
      product(a_transposed, b_transposed, m, n, k, a.data(), lda, b.data(), ldb, 0, c.data(), n);
    };
  };
  measure(fmt::format("{}x{}x{}", m, n, k), fmt::format("{}{}", letter(a_transposed), letter(b_transposed)),
          2.0 * static_cast<double>(m * n * k), "GFLOP/s",
          {{"native", call(&gemm)}, {"openblas", call(&blas::gemm)}});
}

/// The three products of a dense layer.
void measure_dense(std::int64_t rows, std::int64_t inputs, std::int64_t outputs) {
  measure_gemm(Transpose::no, Transpose::no, rows, outputs, inputs);
  measure_gemm(Transpose::yes, Transpose::no, inputs, outputs, rows);
  measure_gemm(Transpose::no, Transpose::yes, rows, inputs, outputs);
}

void measure_convolution(const std::string& name, std::int64_t images, const ConvolutionGeometry& g) {
  const auto convolution = make_convolution(g);
  const std::int64_t outputs = images * g.out_height() * g.out_width() * g.filters;
  const std::int64_t taps = g.kernel_h * g.kernel_w * g.channels / g.groups;
  const Values x = some_values(images * g.height * g.width * g.channels), w = some_values(taps * g.filters),
               bias = some_values(g.filters), dy = some_values(outputs);
  Values y(dy.size()), dx(x.size()), dw(w.size()), dbias(bias.size());
  Values scratch(static_cast<std::size_t>(convolution->scratch_size()));
  const double work = 2.0 * static_cast<double>(outputs * taps);
  measure(name, "forward", convolution->kernel(), work, "GFLOP/s", [&] {
    convolution->forward(images, x.data(), w.data(), bias.data(), Activation::relu, y.data(), scratch.data());
  });
  measure(name, "data", convolution->kernel(), work, "GFLOP/s",
          [&] { convolution->backward_data(images, dy.data(), w.data(), dx.data(), scratch.data()); });
  measure(name, "weights", convolution->kernel(), work, "GFLOP/s", [&] {
    convolution->backward_weights(images, x.data(), dy.data(), dw.data(), dbias.data(), false,
                                  scratch.data());
  });
}

void measure_elementwise(std::int64_t rows, std::int64_t columns) {
  const std::int64_t count = rows * columns;
  const Values x = some_values(count), bias = some_values(columns);
  Values y = some_values(count), z = some_values(count), sums = some_values(columns);
  std::vector<double> first(bias.size()), second(bias.size());
  volatile std::uint32_t bits = 0;
  const std::vector<std::uint8_t> bytes(x.size(), 7);
  const auto run = [&](const char* pass, double floats, const std::function<void()>& call) {
    measure(fmt::format("{}x{}", rows, columns), pass, "elementwise",
            floats * static_cast<double>(count) * sizeof(float), "GB/s", call);
  };
  for (const auto& [name, f] : {std::pair{"bias relu", Activation::relu},
                                {"bias sigmoid", Activation::sigmoid},
                                {"bias tanh", Activation::tanh}})
    run(name, 2, [&, kind = f] { bias_activate(kind, rows, columns, x.data(), bias.data(), y.data()); });
  run("relu backward", 3, [&] { activate_backward(Activation::relu, count, x.data(), z.data(), y.data()); });
  run("column sums", 1, [&] { column_sums(rows, columns, x.data(), false, sums.data()); });
  run("softmax", 2, [&] { softmax(rows, columns, x.data(), y.data()); });
  run("largest magnitude", 1, [&] { bits = largest_magnitude(count, x.data()); });
  run("sgd", 5, [&] {
    sgd_update(count, {.rate = 1e-6f, .momentum = 0.9f, .decay = 1e-6f}, x.data(), y.data(), z.data());
  });
  run("accumulate", 3, [&] { accumulate(count, x.data(), y.data()); });
  run("bytes", 1.25, [&] { bytes_to_unit(count, bytes.data(), y.data()); });
  run("channel moments", 1, [&] { channel_moments(rows, columns, x.data(), first.data(), second.data()); });
  run("channel affine", 2,
      [&] { channel_affine(rows, columns, x.data(), bias.data(), bias.data(), y.data()); });
  run("norm backward sums", 2, [&] {
    batch_norm_backward_sums(rows, columns, x.data(), y.data(), bias.data(), first.data(), second.data());
  });
  run("norm backward", 3, [&] {
    batch_norm_backward(rows, columns, x.data(), y.data(), bias.data(), bias.data(), bias.data(), bias.data(),
                        z.data());
  });
}

void measure_pooling(std::int64_t images, const PoolingGeometry& g) {
  const Values x = some_values(images * g.height * g.width * g.channels);
  Values y(static_cast<std::size_t>(images * g.out_height() * g.out_width() * g.channels)), dx = x;
  std::vector<std::uint8_t> winner(y.size());
  const std::string name = fmt::format("{}x{}x{}", g.height, g.width, g.channels);
  const double bytes = static_cast<double>(x.size() + y.size()) * sizeof(float);
  const auto run = [&](const char* pass, const std::function<void()>& call) {
    measure(name, pass, fmt::format("pool {}x{}", g.size_h, g.size_w), bytes, "GB/s", call);
  };
  run("max forward", [&] { max_pool(g, images, x.data(), y.data(), winner.data()); });
  run("max backward", [&] { max_pool_backward(g, images, y.data(), winner.data(), dx.data()); });
  run("average forward", [&] { average_pool(g, images, x.data(), false, y.data()); });
  run("average backward", [&] { average_pool_backward(g, images, y.data(), false, dx.data()); });
}

}  // namespace

int main(int argc, char** argv) {
  choose_engine(Engine::native);
  fmt::print("# {}, {} {}\nwhat,pass,kernel,milliseconds,rate,unit\n", engine_text(), blas_version(),
             prepare_blas());
  measure_dense(128, 784, 100);
  measure_dense(64, 784, 100);
  measure_dense(128, 100, 10);
  measure_dense(128, 512, 10);
  measure_dense(128, 784, 1024);
  measure_dense(128, 1024, 1024);
  measure_dense(32, 1024, 1024);
  measure_dense(768, 128, 512);
  measure_gemm(Transpose::yes, Transpose::no, 128, 512, 3200);
  measure_gemm(Transpose::no, Transpose::no, 1024, 1024, 1024);
  if (argc > 1 && std::string_view(argv[1]) == "products") return 0;
  measure_convolution("1 to 16 5x5 at 28", 128, {28, 28, 1, 16, 5, 5});
  measure_convolution("16 to 32 5x5 at 12", 128, {12, 12, 16, 32, 5, 5});
  measure_convolution("3 to 16 3x3 at 32", 128, {32, 32, 3, 16, 3, 3, 1, 1, 1, 1});
  measure_convolution("16 3x3 at 32", 128, {32, 32, 16, 16, 3, 3, 1, 1, 1, 1});
  measure_convolution("16 to 32 3x3 at 32 stride 2", 128, {32, 32, 16, 32, 3, 3, 2, 2, 1, 1});
  measure_convolution("32 3x3 at 16", 128, {16, 16, 32, 32, 3, 3, 1, 1, 1, 1});
  measure_convolution("32 to 64 1x1 at 16 stride 2", 128, {16, 16, 32, 64, 1, 1, 2, 2});
  measure_convolution("64 3x3 at 8", 128, {8, 8, 64, 64, 3, 3, 1, 1, 1, 1});
  measure_convolution("64 3x3 at 56", 2, {56, 56, 64, 64, 3, 3, 1, 1, 1, 1});
  measure_convolution("64 to 256 1x1 at 56", 2, {56, 56, 64, 256, 1, 1});
  measure_convolution("256 3x3 at 14", 4, {14, 14, 256, 256, 3, 3, 1, 1, 1, 1});
  measure_convolution("64 3x3 depthwise at 28", 2, {28, 28, 64, 64, 3, 3, 1, 1, 1, 1, 1, 1, 64});
  measure_elementwise(128, 10);
  measure_elementwise(128, 1024);
  measure_elementwise(8192, 16);
  measure_elementwise(131072, 16);
  measure_pooling(128, {24, 24, 16});
  measure_pooling(128, {8, 8, 32});
  measure_pooling(128, {8, 8, 64, 8, 8, 8, 8});
  return 0;
}
