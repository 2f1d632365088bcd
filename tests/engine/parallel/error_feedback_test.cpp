// PowerSGD and 1-bit SGD: what is sent, and what stays.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "engine/core/random.h"
#include "engine/parallel/gradient_reducer.h"
#include "engine/parallel/low_rank.h"
#include "engine/parallel/sign_code.h"
#include "engine/parallel/sign_exchange.h"
#include "tests/support/mpi_main.h"

namespace trainer {
namespace {

constexpr std::int64_t kRows = 40, kColumns = 24, kMatrix = kRows * kColumns, kBias = 700;
const std::vector<std::int64_t> kBorders{0, kMatrix, kMatrix + kBias};
constexpr std::int64_t kTotal = kMatrix + kBias;

float gradient(int step, int rank, int worker, std::int64_t index) {
  const RandomStream random(static_cast<std::uint64_t>(step), "gradient",
                            static_cast<std::uint64_t>(rank * 10 + worker));
  return (random.uniform(static_cast<std::uint64_t>(index)) - 0.5f) * static_cast<float>(1 + index % 7);
}

/// All ranks reduce gradients with error feedback, on two threads each.
class Reduction {
 public:
  Reduction(Compression compression, int rank)
      : mesh_(test_world(), {.data = test_world().size()}),
        pool_(2, true),
        factor_(static_cast<std::size_t>(rank * kColumns)),
        momentum_(compression.momentum > 0 ? kMatrix : 0),
        window_(mesh_, pool_, kBorders, {.oversubscribed = true, .compression = compression}),
        reducer_(make_gradient_reducer(mesh_, pool_, window_, parameters())) {}

  /// Adds the gradients of a step of all ranks to `sum`, and returns what all ranks know of it.
  std::vector<float> step(int number, std::vector<double>& sum) {
    reducer_->begin();
    pool_.run([&](int worker) {
      for (std::int64_t i = 0; i < kTotal; ++i)
        window_.gradients(worker)[static_cast<std::size_t>(i)] =
            gradient(number, test_world().rank(), worker, i);
      reducer_->ready(worker, 0);
    });
    reducer_->measure_error(true);
    reducer_->finish();
    for (int rank = 0; rank < test_world().size(); ++rank)
      for (int worker = 0; worker < pool_.size(); ++worker)
        for (std::int64_t i = 0; i < kTotal; ++i)
          sum[static_cast<std::size_t>(i)] += gradient(number, rank, worker, i);
    const std::span<float> known = window_.sums({0, kTotal});
    std::vector<float> result(known.begin(), known.end());
    reducer_->publish();
    return result;
  }
  /// The sum over the ranks.
  std::vector<double> residual() {
    std::vector<double> all(reducer_->residual().begin(), reducer_->residual().end());
    test_world().sum(all);
    return all;
  }
  const std::vector<float>& momentum() const { return momentum_; }
  double error() { return *reducer_->compression_error(); }

 private:
  std::vector<CompressedParameter> parameters() {
    CompressedParameter matrix{.range = {0, kMatrix}, .momentum = momentum_};
    if (!factor_.empty())
      matrix = {.range = {0, kMatrix}, .rows = kRows, .columns = kColumns, .factor = factor_};
    return {matrix, {.range = {kMatrix, kTotal}}};
  }

  Mesh mesh_;
  ThreadPool pool_;
  std::vector<float> factor_, momentum_;
  ParameterWindow window_;
  std::unique_ptr<GradientReducer> reducer_;
};

Reduction one_bit(float momentum) {
  return {{.method = Compression::Method::one_bit, .momentum = momentum}, 0};
}

Reduction powersgd(int rank) { return {{.method = Compression::Method::powersgd, .rank = rank}, rank}; }

double norm(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value * value;
  return std::sqrt(sum);
}

double distance(const std::vector<float>& a, const std::vector<double>& b) {
  std::vector<double> difference(a.begin(), a.end());
  for (std::size_t i = 0; i < difference.size(); ++i) difference[i] -= b[i];
  return norm(difference);
}

void check_same_on_all_ranks(const std::vector<float>& values) {
  std::vector<double> highest(values.begin(), values.end()), lowest = highest;
  for (double& value : lowest) value = -value;
  test_world().maximum(highest);
  test_world().maximum(lowest);
  for (std::size_t i = 0; i < highest.size(); ++i) REQUIRE(highest[i] == -lowest[i]);
}

}  // namespace

TEST_CASE("PowerSGD of full rank gives the sum of the gradients", "[parallel]") {
  Reduction reduction = powersgd(static_cast<int>(std::min(kRows, kColumns)));
  for (int number = 0; number < 3; ++number) {
    std::vector<double> sum(kTotal);
    const std::vector<float> known = reduction.step(number, sum);
    CHECK(distance(known, sum) < 1e-5 * norm(sum));
    CHECK(reduction.error() < 1e-5);
  }
}

TEST_CASE("with error feedback all gradients are sent or kept, and all ranks know the same", "[parallel]") {
  const int rank = GENERATE(-1, 0, 1, 4);  // 0: 1-bit SGD; -1: with a momentum
  Reduction reduction = rank > 0 ? powersgd(rank) : one_bit(rank < 0 ? 0.9f : 0);
  CAPTURE(rank);
  std::vector<double> sum(kTotal), known(kTotal);
  for (int number = 0; number < 20; ++number) {
    const std::vector<float> of_step = reduction.step(number, sum);
    check_same_on_all_ranks(of_step);
    for (std::size_t i = 0; i < known.size(); ++i) known[i] += of_step[i];
  }
  const std::vector<double> residual = reduction.residual();
  CHECK(norm(residual) > 0);
  for (std::size_t i = 0; i < known.size(); ++i) known[i] += residual[i];
  CHECK(distance({known.begin(), known.end()}, sum) < 1e-5 * norm(sum));
}

TEST_CASE("the momentum of one_bit is that of the sums that all ranks know", "[parallel]") {
  Reduction reduction = one_bit(0.9f);
  std::vector<double> sum(kTotal), momentum(kMatrix);
  for (int number = 0; number < 20; ++number) {
    const std::vector<float> known = reduction.step(number, sum);
    for (std::size_t i = 0; i < momentum.size(); ++i)
      momentum[i] = 0.9 * momentum[i] + static_cast<double>(known[i]);
    CHECK(distance(reduction.momentum(), momentum) < 1e-5 * norm(momentum));
  }
}

TEST_CASE("a momentum of one_bit changes what ranks send", "[parallel]") {
  std::vector<double> sum(kTotal);
  Reduction with = one_bit(0.9f), without = one_bit(0);
  CHECK(with.step(0, sum) == without.step(0, sum));  // nothing is known before
  CHECK(with.step(1, sum) != without.step(1, sum));
}

TEST_CASE("the error of a step is near the norm of what was not sent over that of what was to be sent",
          "[parallel]") {
  const int rank = GENERATE(0, 1, 4);
  Reduction reduction = rank > 0 ? powersgd(rank) : one_bit(0);
  CAPTURE(rank);
  for (int number = 0; number < 3; ++number) {
    std::vector<double> to_be_sent = reduction.residual();
    reduction.step(number, to_be_sent);
    CHECK(reduction.error() == Approx(norm(reduction.residual()) / norm(to_be_sent)).epsilon(0.08));
  }
}

TEST_CASE("what PowerSGD sends of the same gradients again and again comes near to them", "[parallel]") {
  Reduction reduction = powersgd(2);
  std::vector<double> sum(kTotal), known(kTotal);
  double first = 0, last = 0;
  for (int number = 0; number < 60; ++number) {
    const std::vector<float> of_step = reduction.step(0, sum);
    for (std::size_t i = 0; i < known.size(); ++i) known[i] += of_step[i];
    last = distance({known.begin(), known.end()}, sum) / norm(sum);
    if (number == 0) first = last;
  }
  CHECK(first > 0.5);
  CHECK(last < 0.25);
}

TEST_CASE("a gradient that is not finite is known to all ranks", "[parallel]") {
  const int rank = GENERATE(0, 2);
  const Compression compression{
      .method = rank > 0 ? Compression::Method::powersgd : Compression::Method::one_bit, .rank = rank};
  Mesh mesh(test_world(), {.data = test_world().size()});
  ThreadPool pool(1);
  std::vector<float> factor(static_cast<std::size_t>(rank * kColumns));
  ParameterWindow window(mesh, pool, kBorders, {.oversubscribed = true, .compression = compression});
  CompressedParameter matrix{.range = {0, kMatrix}};
  if (rank > 0) matrix = {.range = {0, kMatrix}, .rows = kRows, .columns = kColumns, .factor = factor};
  const auto reducer = make_gradient_reducer(mesh, pool, window, {matrix, {.range = {kMatrix, kTotal}}});
  reducer->begin();
  std::ranges::fill(window.gradients(0), 1.0f);
  const float bad = GENERATE(INFINITY, -INFINITY, NAN);
  if (test_world().rank() == 0) window.gradients(0)[5] = bad;
  reducer->ready(0, 0);
  reducer->finish();
  CHECK(std::ranges::any_of(window.sums({0, kTotal}), [](float value) { return !std::isfinite(value); }));
  reducer->publish();
}

TEST_CASE("parameters in float32 are summed whole, beside others of which one bit travels", "[parallel]") {
  Mesh mesh(test_world(), {.data = test_world().size()});
  ThreadPool pool(2, true);
  const std::vector<std::int64_t> arrays(static_cast<std::size_t>(test_world().size()), 2);
  SignExchange exchange(mesh.data(), pool,
                        {{.range = {0, 16}, .in_float32 = true},
                         {.range = {16, 716}},
                         {.range = {716, 731}, .in_float32 = true}},
                        arrays);
  std::vector<float> sums(731), residual(731, 1.0f);
  std::vector<double> expected(731);
  for (int rank = 0; rank < test_world().size(); ++rank)
    for (int array = 0; array < 2; ++array)
      for (std::int64_t i = 0; i < 731; ++i)
        expected[static_cast<std::size_t>(i)] += gradient(0, rank, array, i);
  for (int array = 0; array < 2; ++array) {
    for (std::int64_t i = 0; i < 731; ++i)
      sums[static_cast<std::size_t>(i)] = gradient(0, test_world().rank(), array, i);
    exchange.encode(static_cast<std::size_t>(array), sums, residual);
    CHECK(residual[0] == 0);
    CHECK(residual[20] != 0);
    CHECK(residual[730] == 0);
  }
  exchange.sum(sums);
  check_same_on_all_ranks(sums);
  for (const std::size_t i : {0U, 15U, 716U, 730U}) CHECK(sums[i] == Approx(expected[i]).margin(1e-5));
  CHECK(sums[20] != Approx(expected[20]).margin(1e-5));
}

TEST_CASE("columns become orthonormal, and those that depend on others zero", "[parallel][1 rank]") {
  const LowRankShape shape{.rows = 30, .columns = 1, .rank = 4};
  std::vector<float> p(static_cast<std::size_t>(shape.p_floats()));
  for (std::int64_t row = 0; row < shape.rows; ++row) {
    const auto at = static_cast<std::size_t>(4 * row);
    for (std::size_t k = 0; k < 4; ++k) p[at + k] = gradient(0, 0, static_cast<int>(k), row);
    p[at + 2] = 3 * p[at] - p[at + 1];
  }
  orthonormalize(shape, p);
  for (std::size_t a = 0; a < 4; ++a)
    for (std::size_t b = 0; b < 4; ++b) {
      double product = 0;
      for (std::size_t row = 0; row < 30; ++row) product += p[4 * row + a] * p[4 * row + b];
      CHECK(product == Approx(a == b && a != 2 ? 1 : 0).margin(1e-6));
    }
}

TEST_CASE("a block of signs gives the means of its values on either side of zero", "[parallel][1 rank]") {
  std::vector<float> values{1, -2, 3, 0, -4, 8}, decoded(values.size());
  decode(encode(values), decoded);
  CHECK(decoded == std::vector<float>{3, -3, 3, 3, -3, 3});
  for (const std::size_t count : {1U, 4U, 50U, 127U, 128U}) {
    values.resize(count);
    decoded.resize(count);
    double sums[2] = {};
    int counts[2] = {};
    for (std::size_t i = 0; i < count; ++i) {
      values[i] = gradient(0, 0, 0, static_cast<std::int64_t>(i));
      sums[values[i] < 0] += values[i];
      ++counts[values[i] < 0];
    }
    decode(encode(values), decoded);
    CAPTURE(count);
    for (std::size_t i = 0; i < count; ++i)
      REQUIRE(decoded[i] == Approx(sums[values[i] < 0] / counts[values[i] < 0]).margin(1e-5));
  }
  values.assign(SignBlock::kValues, -7);
  decoded.resize(values.size());
  decode(encode(values), decoded);
  CHECK(decoded == values);
}

}  // namespace trainer
