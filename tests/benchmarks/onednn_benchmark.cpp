// Prints how fast oneDNN is beside our own kernels on one core, as CSV: what, pass, our kernel, GFLOP/s of
// both and the ratio of oneDNN to ours. Both in turns, each the best of several calls. oneDNN gets prepared
// primitives and weights in the layout that it likes best, activations stay channels-last.

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <dnnl.hpp>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/math/convolution.h"
#include "engine/math/gemm.h"

using namespace trainer;

namespace {

using Values = std::vector<float>;
using Call = std::function<void()>;
using Tag = dnnl::memory::format_tag;
using Arguments = std::unordered_map<int, dnnl::memory>;

Values some_values(std::int64_t count) {
  Values values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * 7919 % 2003) / 1001 - 1;
  return values;
}

double seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Seconds of one of some calls that are timed together, as short ones have to be.
double time_of(const Call& call, int repeats) {
  const double start = seconds();
  for (int i = 0; i < repeats; ++i) call();
  return (seconds() - start) / repeats;
}

void compare(const std::string& what, const std::string& pass, const std::string& kernel, double operations,
             const Call& ours, const Call& theirs) {
  const int repeats = std::max(1, static_cast<int>(1e8 / operations));
  double our_best = 1e30, their_best = 1e30;
  ours();
  theirs();
  for (const double end = seconds() + 0.4; seconds() < end;) {
    our_best = std::min(our_best, time_of(ours, repeats));
    their_best = std::min(their_best, time_of(theirs, repeats));
  }
  fmt::print("{},{},{},{:.0f},{:.0f},{:.2f}\n", what, pass, kernel, operations / our_best / 1e9,
             operations / their_best / 1e9, our_best / their_best);
  std::fflush(stdout);
}

/// oneDNN on one thread.
struct OneDnn {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};

  static dnnl::memory::desc description(const dnnl::memory::dims& extents, Tag tag) {
    return {extents, dnnl::memory::data_type::f32, tag};
  }
  /// Memory of its own, filled with small values.
  dnnl::memory memory(const dnnl::memory::desc& description) {
    dnnl::memory memory(description, engine);
    auto* values = static_cast<float*>(memory.get_data_handle());
    std::fill_n(values, description.get_size() / sizeof(float), 0.01f);
    return memory;
  }
  Call call(const dnnl::primitive& primitive, Arguments arguments) {
    return [this, primitive, arguments = std::move(arguments)] {
      primitive.execute(stream, arguments);
      stream.wait();
    };
  }
};

void compare_products(OneDnn& library, std::int64_t m, std::int64_t n, std::int64_t k) {
  const Values x = some_values(m * k), w = some_values(k * n), dy = some_values(m * n);
  Values y(dy.size()), dw(w.size()), dx(x.size());
  const double operations = 2.0 * static_cast<double>(m * n * k);
  const std::string what = fmt::format("dense {}x{} batch {}", k, n, m);
  const auto product = [&](std::int64_t rows, std::int64_t columns, std::int64_t depth, Tag a, Tag b) {
    const dnnl::matmul::primitive_desc plan(
        {library.description({rows, depth}, a), library.description({depth, columns}, b),
         library.description({rows, columns}, Tag::ab)},
        library.engine);
    return library.call(dnnl::matmul(plan), {{DNNL_ARG_SRC, library.memory(plan.src_desc())},
                                             {DNNL_ARG_WEIGHTS, library.memory(plan.weights_desc())},
                                             {DNNL_ARG_DST, library.memory(plan.dst_desc())}});
  };
  const auto no = Transpose::no, yes = Transpose::yes;
  compare(
      what, "forward", "gemm", operations,
      [&] { gemm(no, no, m, n, k, x.data(), k, w.data(), n, 0, y.data(), n); },
      product(m, n, k, Tag::ab, Tag::any));
  compare(
      what, "data", "gemm", operations,
      [&] { gemm(no, yes, m, k, n, dy.data(), n, w.data(), n, 0, dx.data(), k); },
      product(m, k, n, Tag::ab, Tag::any));
  compare(
      what, "weights", "gemm", operations,
      [&] { gemm(yes, no, k, n, m, x.data(), k, dy.data(), n, 0, dw.data(), n); },
      product(k, n, m, Tag::ba, Tag::ab));
}

void compare_convolutions(OneDnn& library, const std::string& what, std::int64_t images,
                          const ConvolutionGeometry& g) {
  const auto ours = make_convolution(g);
  const std::int64_t outputs = images * g.out_height() * g.out_width() * g.filters;
  const Values x = some_values(images * g.height * g.width * g.channels),
               w = some_values(g.kernel_h * g.kernel_w * g.channels * g.filters), dy = some_values(outputs);
  Values y(dy.size()), dx(x.size()), dw(w.size()), scratch(static_cast<std::size_t>(ours->scratch_size()));
  const double operations = 2.0 * static_cast<double>(outputs * g.kernel_h * g.kernel_w * g.channels);

  const auto input = library.description({images, g.channels, g.height, g.width}, Tag::nhwc);
  const auto weights = library.description({g.filters, g.channels, g.kernel_h, g.kernel_w}, Tag::any);
  const auto output = library.description({images, g.filters, g.out_height(), g.out_width()}, Tag::nhwc);
  const dnnl::memory::dims stride{g.stride_h, g.stride_w}, padding{g.pad_h, g.pad_w};
  const auto direct = dnnl::algorithm::convolution_direct;
  const dnnl::convolution_forward::primitive_desc forward(
      {dnnl::prop_kind::forward_training, direct, input, weights, output, stride, padding, padding},
      library.engine);
  const dnnl::convolution_backward_data::primitive_desc data(
      {direct, input, weights, output, stride, padding, padding}, library.engine, forward);
  const dnnl::convolution_backward_weights::primitive_desc gradient(
      {direct, input, weights, output, stride, padding, padding}, library.engine, forward);

  compare(
      what, "forward", ours->kernel(), operations,
      [&] { ours->forward(images, x.data(), w.data(), nullptr, Activation::none, y.data(), scratch.data()); },
      library.call(dnnl::convolution_forward(forward),
                   {{DNNL_ARG_SRC, library.memory(input)},
                    {DNNL_ARG_WEIGHTS, library.memory(forward.weights_desc())},
                    {DNNL_ARG_DST, library.memory(output)}}));
  compare(
      what, "data", ours->kernel(), operations,
      [&] { ours->backward_data(images, dy.data(), w.data(), dx.data(), scratch.data()); },
      library.call(dnnl::convolution_backward_data(data),
                   {{DNNL_ARG_DIFF_DST, library.memory(output)},
                    {DNNL_ARG_WEIGHTS, library.memory(data.weights_desc())},
                    {DNNL_ARG_DIFF_SRC, library.memory(input)}}));
  compare(
      what, "weights", ours->kernel(), operations,
      [&] { ours->backward_weights(images, x.data(), dy.data(), dw.data(), nullptr, false, scratch.data()); },
      library.call(dnnl::convolution_backward_weights(gradient),
                   {{DNNL_ARG_SRC, library.memory(input)},
                    {DNNL_ARG_DIFF_DST, library.memory(output)},
                    {DNNL_ARG_DIFF_WEIGHTS, library.memory(gradient.diff_weights_desc())}}));
}

}  // namespace

int main() {
  const dnnl_version_t* version = dnnl_version();
  fmt::print("# oneDNN {}.{}.{}\nwhat,pass,kernel,ours,oneDNN,ratio\n", version->major, version->minor,
             version->patch);
  OneDnn library;
  compare_products(library, 128, 100, 784);
  compare_products(library, 128, 1024, 784);
  compare_products(library, 128, 1024, 1024);
  compare_products(library, 128, 500, 512);
  compare_products(library, 128, 10, 500);
  compare_convolutions(library, "1 to 16 5x5 at 28", 128, {28, 28, 1, 16, 5, 5});
  compare_convolutions(library, "16 to 32 5x5 at 12", 128, {12, 12, 16, 32, 5, 5});
  compare_convolutions(library, "3 to 16 3x3 at 32", 128, {32, 32, 3, 16, 3, 3, 1, 1, 1, 1});
  compare_convolutions(library, "16 3x3 at 32", 128, {32, 32, 16, 16, 3, 3, 1, 1, 1, 1});
  compare_convolutions(library, "16 to 32 3x3 at 32 stride 2", 128, {32, 32, 16, 32, 3, 3, 2, 2, 1, 1});
  compare_convolutions(library, "32 3x3 at 16", 128, {16, 16, 32, 32, 3, 3, 1, 1, 1, 1});
  compare_convolutions(library, "32 to 64 3x3 at 16 stride 2", 128, {16, 16, 32, 64, 3, 3, 2, 2, 1, 1});
  compare_convolutions(library, "64 3x3 at 8", 128, {8, 8, 64, 64, 3, 3, 1, 1, 1, 1});
  compare_convolutions(library, "64 3x3 at 56", 16, {56, 56, 64, 64, 3, 3, 1, 1, 1, 1});
  compare_convolutions(library, "64 to 256 1x1 at 56", 16, {56, 56, 64, 256, 1, 1});
  return 0;
}
