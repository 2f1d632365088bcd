#include "tests/engine/math/portable_bits.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/core/random.h"
#include "engine/core/sha256.h"
#include "engine/math/activations.h"
#include "engine/math/attention.h"
#include "engine/math/convolution.h"
#include "engine/math/elementwise.h"
#include "engine/math/gemm.h"
#include "engine/math/normalization.h"
#include "engine/math/pooling.h"
#include "engine/math/precision.h"
#include "engine/math/recurrent.h"
#include "engine/math/updates.h"

namespace trainer {
namespace {

using Values = std::vector<float>;

/// Values between -1 and 1 that no library decides on.
Values values(std::int64_t count, std::uint64_t seed) {
  const RandomStream stream(seed, "portable bits");
  Values all(static_cast<std::size_t>(count));
  stream.fill_uniform(0, all);
  for (float& value : all) value = 2 * value - 1;
  return all;
}

Values zeros(std::int64_t count) { return Values(static_cast<std::size_t>(count)); }

class Hash {
 public:
  /// Little-endian on every processor.
  void add(const Values& all) {
    if constexpr (std::endian::native == std::endian::little) return sha_.add(std::as_bytes(std::span(all)));
    for (const float value : all) {
      auto bytes = std::bit_cast<std::array<std::byte, sizeof(float)>>(value);
      std::ranges::reverse(bytes);
      sha_.add(bytes);
    }
  }
  std::string text() { return hex_of(sha_.digest()).substr(0, 16); }

 private:
  Sha256 sha_;
};

void add_products(Hash& hash) {
  struct Shape {
    std::int64_t m, n, k;
  };
  for (const auto [m, n, k] :
       {Shape{1, 1, 1}, {5, 3, 40}, {33, 65, 300}, {70, 48, 17}, {9, 130, 600}, {200, 20, 9}})
    for (const Transpose a_turned : {Transpose::no, Transpose::yes})
      for (const Transpose b_turned : {Transpose::no, Transpose::yes})
        for (const float beta : {0.0f, 1.0f, -0.7f}) {
          const Values a = values(m * k, 1), b = values(k * n, 2);
          Values c = values(m * n, 3);
          gemm(a_turned, b_turned, m, n, k, a.data(), a_turned == Transpose::no ? k : m, b.data(),
               b_turned == Transpose::no ? n : k, beta, c.data(), n);
          hash.add(c);
        }
}

// height, width, channels, filters, kernel, stride, padding, dilation, groups
const ConvolutionGeometry kGeometries[] = {
    {28, 28, 1, 16, 5, 5},
    {12, 12, 16, 20, 5, 5},
    {8, 8, 9, 40, 3, 3, 1, 1, 1, 1},
    {16, 16, 16, 8, 3, 3, 1, 1, 1, 1},
    {32, 32, 3, 16, 3, 3, 1, 1, 1, 1},
    {32, 32, 3, 36, 5, 5},
    {14, 14, 6, 9, 5, 5, 1, 1, 4, 4},
    {9, 7, 16, 33, 3, 3, 2, 2, 1, 1},
    {10, 11, 3, 10, 3, 3, 1, 1, 1, 1},
    {9, 9, 1, 40, 7, 4, 1, 1, 3, 1},
    {7, 6, 5, 7, 2, 3, 1, 2, 1, 0},
    {11, 13, 4, 6, 3, 2, 2, 3, 2, 1, 2, 3},
    {6, 6, 32, 64, 3, 3, 1, 1, 1, 1, 1, 1, 2},
    {7, 8, 33, 33, 3, 3, 2, 2, 1, 1, 1, 1, 33},
    {6, 6, 6, 12, 3, 3, 1, 1, 1, 1, 1, 1, 6},
    {7, 7, 20, 12, 1, 1},
};

void add_convolutions(Hash& hash) {
  constexpr std::int64_t kImages = 11;  // more than are summed together
  for (const ConvolutionGeometry& g : kGeometries) {
    const auto convolution = make_convolution(g);
    const Values x = values(kImages * g.height * g.width * g.channels, 1), bias = values(g.filters, 3),
                 w = values(g.kernel_h * g.kernel_w * (g.channels / g.groups) * g.filters, 2),
                 dy = values(kImages * g.out_height() * g.out_width() * g.filters, 4);
    Values scratch = zeros(convolution->scratch_size()), y = dy, dx = x, dw = w, dbias = bias;
    convolution->forward(kImages, x.data(), w.data(), bias.data(), Activation::none, y.data(),
                         scratch.data());
    convolution->backward_data(kImages, dy.data(), w.data(), dx.data(), scratch.data());
    convolution->backward_weights(kImages, x.data(), dy.data(), dw.data(), dbias.data(), false,
                                  scratch.data());
    for (const Values* all : {&y, &dx, &dw, &dbias}) hash.add(*all);
  }
}

void add_elementwise(Hash& hash) {
  constexpr std::int64_t kRows = 7, kColumns = 307;
  Values x = values(kRows * kColumns, 1);
  const Values dy = values(kRows * kColumns, 2), bias = values(kColumns, 3);
  for (float& value : x) value *= 9;
  for (const Activation f : {Activation::relu, Activation::relu6, Activation::sigmoid, Activation::tanh,
                             Activation::gelu, Activation::gelu_tanh, Activation::silu, Activation::hardswish,
                             Activation::softplus, Activation::elu}) {
    Values y = x, dx = x;
    bias_activate(f, kRows, kColumns, x.data(), bias.data(), y.data());
    activate_backward(f, kRows * kColumns, y.data(), dy.data(), dx.data());
    hash.add(y);
    hash.add(dx);
  }
  Values y = x, sums = bias, positive = x;
  softmax(kRows, kColumns, x.data(), y.data());
  column_sums(kRows, kColumns, x.data(), true, sums.data());
  hash.add(y);
  hash.add(sums);
  for (float& value : positive) value = value * value + 0.1f;
  power(kRows * kColumns, 0.75f, positive.data(), y.data());
  hash.add(y);
}

void add_losses(Hash& hash) {
  constexpr std::int64_t kCount = 2149;
  Values x = values(kCount, 1), target = values(kCount, 2), loss = x, dx = x;
  for (float& value : x) value *= 9;
  sigmoid_cross_entropy(kCount, 0.5f, x.data(), target.data(), loss.data(), dx.data());
  hash.add(loss);
  hash.add(dx);
}

void add_label_smoothing(Hash& hash) {
  constexpr std::int64_t kColumns = 307;
  const Values x = values(kColumns, 1), weights = values(kColumns, 2);
  for (const float* const given : {static_cast<const float*>(nullptr), weights.data()}) {
    Values gradient = values(kColumns, 3);
    softmax_spread_gradient(kColumns, 0.7f, 0.3f, given, gradient.data());
    gradient.push_back(softmax_spread(kColumns, x.data(), 2, given));
    hash.add(gradient);
  }
}

void add_normalization(Hash& hash) {
  constexpr std::int64_t kRows = 133, kColumns = 43;
  const Values x = values(kRows * kColumns, 1), dy = values(kRows * kColumns, 2),
               weight = values(kColumns, 3);
  Values y = x, mean = zeros(kRows), deviation = mean, dweight = weight, dbias = weight, dx = x;
  layer_norm(kRows, kColumns, x.data(), weight.data(), weight.data(), 1e-5f, y.data(), mean.data(),
             deviation.data());
  layer_norm_gradients(kRows, kColumns, x.data(), dy.data(), mean.data(), deviation.data(), dweight.data(),
                       dbias.data());
  layer_norm_backward(kRows, kColumns, x.data(), dy.data(), mean.data(), deviation.data(), weight.data(),
                      dx.data());
  for (const Values* all : {&y, &dx, &dweight, &dbias}) hash.add(*all);
  std::vector<double> sums(kColumns), dots(kColumns);
  channel_moments(kRows, kColumns, x.data(), sums.data(), dots.data());
  hash.add(Values(sums.begin(), sums.end()));
  hash.add(Values(dots.begin(), dots.end()));
  batch_norm_backward_sums(kRows, kColumns, x.data(), dy.data(), weight.data(), sums.data(), dots.data());
  hash.add(Values(dots.begin(), dots.end()));
  batch_norm_backward(kRows, kColumns, x.data(), dy.data(), weight.data(), dweight.data(), dbias.data(),
                      weight.data(), dx.data());
  hash.add(dx);
  channel_affine(kRows, kColumns, x.data(), weight.data(), dbias.data(), y.data());
  hash.add(y);
}

void add_pooling(Hash& hash) {
  const PoolingGeometry g{.height = 9,
                          .width = 11,
                          .channels = 21,
                          .size_h = 3,
                          .size_w = 2,
                          .stride_h = 2,
                          .stride_w = 2,
                          .pad_h = 1};
  constexpr std::int64_t kImages = 3;
  const Values x = values(kImages * g.height * g.width * g.channels, 1);
  Values y = zeros(kImages * g.out_height() * g.out_width() * g.channels), dx = x;
  std::vector<std::uint8_t> winner(y.size());
  max_pool(g, kImages, x.data(), y.data(), winner.data());
  max_pool_backward(g, kImages, y.data(), winner.data(), dx.data());
  hash.add(y);
  hash.add(dx);
  average_pool(g, kImages, x.data(), false, y.data());
  average_pool_backward(g, kImages, y.data(), false, dx.data());
  hash.add(y);
  hash.add(dx);
}

void add_attention(Hash& hash) {
  for (const bool causal : {false, true}) {
    const AttentionGeometry g{
        .length = 75, .heads = 4, .key_heads = 2, .head_size = 12, .filled = 70, .causal = causal};
    const Values qkv = values(g.length * g.row(), 1), dcontext = values(g.length * g.width(), 2);
    Values context = dcontext, sums = zeros(g.sums_size()), scratch = zeros(g.scratch_size()), dqkv = qkv;
    attention_forward(g, qkv.data(), context.data(), sums.data(), scratch.data());
    attention_backward(g, qkv.data(), context.data(), sums.data(), dcontext.data(), dqkv.data(),
                       scratch.data());
    hash.add(context);
    hash.add(dqkv);
  }
}

void add_recurrent(Hash& hash) {
  constexpr std::int64_t kRows = 3, kUnits = 21, kAll = kRows * kUnits;
  const Values bias = values(4 * kUnits, 1), before = values(kAll, 2), dh = values(kAll, 3);
  Values gates = values(4 * kAll, 4), c = zeros(kAll), tanh_c = c, h = c, dc = dh;
  lstm_step(kRows, kUnits, bias.data(), before.data(), gates.data(), c.data(), tanh_c.data(), h.data(),
            kUnits);
  hash.add(h);
  lstm_step_backward(kRows, kUnits, dh.data(), kUnits, before.data(), tanh_c.data(), dc.data(), gates.data());
  hash.add(gates);
  hash.add(dc);
  Values three = values(3 * kAll, 5), recurrent = values(3 * kAll, 6), before_gradient = zeros(kAll);
  gru_step(kRows, kUnits, bias.data(), bias.data(), before.data(), kUnits, three.data(), recurrent.data(),
           h.data(), kUnits);
  hash.add(h);
  gru_step_backward(kRows, kUnits, dh.data(), kUnits, before.data(), kUnits, three.data(), recurrent.data(),
                    before_gradient.data(), kUnits);
  for (const Values* all : {&three, &recurrent, &before_gradient}) hash.add(*all);
}

void add_updates(Hash& hash) {
  constexpr std::int64_t kCount = 1001;
  const Values gradient = values(kCount, 1);
  Values weight = values(kCount, 2), first = values(kCount, 3), second = gradient;
  for (float& value : second) value *= value;
  sgd_update(kCount, {.rate = 0.1f, .momentum = 0.9f, .decay = 1e-4f}, gradient.data(), first.data(),
             weight.data());
  sgd_update(kCount, {.rate = 0.1f, .momentum = 0.9f, .nesterov = true}, gradient.data(), first.data(),
             weight.data());
  adam_update(
      kCount,
      {.rate = 0.01f, .epsilon = 1e-8f, .beta1 = 0.9f, .beta2 = 0.999f, .decay = 1e-4f, .shrink = 1e-5f},
      gradient.data(), first.data(), second.data(), weight.data());
  rmsprop_update(kCount, {.rate = 0.01f, .smoothing = 0.9f, .epsilon = 1e-8f}, gradient.data(), second.data(),
                 nullptr, nullptr, weight.data());
  lion_update(kCount, {.rate = 0.01f, .beta1 = 0.9f, .beta2 = 0.99f, .shrink = 1e-3f}, gradient.data(),
              first.data(), weight.data());
  lars_update(kCount, {.rate = 0.01f, .momentum = 0.9f, .decay = 1e-4f}, gradient.data(), first.data(),
              weight.data());
  moving_average(kCount, 0.99f, gradient.data(), weight.data());
  for (const Values* all : {&weight, &first, &second}) hash.add(*all);
}

}  // namespace

std::string portable_text() {
  std::string all;
  const auto family = [&](const char* kernels, void (*add)(Hash&)) {
    Hash hash;
    add(hash);
    all += std::string(kernels) + " " + hash.text() + "\n";
  };
  family("products", add_products);
  family("convolutions", add_convolutions);
  family("elementwise", add_elementwise);
  family("losses", add_losses);
  family("label smoothing", add_label_smoothing);
  family("normalization", add_normalization);
  family("pooling", add_pooling);
  family("attention", add_attention);
  family("recurrent", add_recurrent);
  family("updates", add_updates);
  choose_precision(Precision::bf16);
  family("bfloat16 products", add_products);
  family("bfloat16 convolutions", add_convolutions);
  choose_precision(Precision::float32);
  return all;
}

const char* const kRecordedBits =
    "products 6e7bd85ec44f7490\n"
    "convolutions 246100a8356bb3dc\n"
    "elementwise 57b33f9007683ae5\n"
    "losses 723b73496f54b428\n"
    "label smoothing 39639fbc9c7c3c23\n"
    "normalization b4e78538b55ed98e\n"
    "pooling a1bcb2925c8abdb3\n"
    "attention 2047d39259f5bb8f\n"
    "recurrent e9af62ad452df685\n"
    "updates 8b2a167560b8ac54\n"
    "bfloat16 products 47888d574c93d3d4\n"
    "bfloat16 convolutions 89f5b2c74c9fa997\n";

}  // namespace trainer
