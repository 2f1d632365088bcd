#include "tests/support/layer_harness.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace trainer {
namespace {

/// Stands before the layers: passes x on, and keeps the gradient that comes back. Its parameter, which
/// nothing reads, makes the sequence ask for that gradient.
class InputProbe final : public Layer {
 public:
  explicit InputProbe(std::vector<float>& gradient) : gradient_(gradient) {}

  Shape setup(const Shape& sample, Plan& plan) override {
    plan.parameter({.name = "unused", .shape = {1}, .is_weight = false});
    // As a layer that needs all it can get, so that nobody writes over x.
    plan.backward_reads(true, true);
    return sample;
  }
  void forward(ConstTensor x, Tensor y, Pass&) override { std::ranges::copy(x.span(), y.data()); }
  void backward(ConstTensor, ConstTensor, Tensor dy, Tensor, Pass& pass) override {
    if (pass.rows() > 0) std::ranges::copy(dy.span(), gradient_.begin() + pass.first_row() * dy.row_size());
  }

 private:
  std::vector<float>& gradient_;
};

std::vector<Setting> list_settings() {
  return {list_of("layers", "the layers", family("layer", "a layer", "layer"))};
}

}  // namespace

ConfigTree layer_list(const std::string& yaml) {
  return ConfigTree({.file = "test.yaml", .text = "layers: [" + yaml + "]"}, list_settings());
}

void PoolSum::sum(int worker, std::span<const double> lines, std::span<double> total) {
  const Range mine = blocks_.of_worker(0, worker);
  for (std::int64_t block = mine.first; block < mine.last; ++block) {
    const auto line =
        lines.subspan(static_cast<std::size_t>(block - mine.first) * total.size(), total.size());
    lines_[static_cast<std::size_t>(block)].assign(line.begin(), line.end());
  }
  pool_.barrier();
  std::vector<const double*> inputs;
  for (const auto& line : lines_) inputs.push_back(line.data());
  double* const root = total.data();
  SumTree::of_leaves(blocks_.count, {0, blocks_.count}).sum(inputs, {&root, 1}, 0, std::ssize(total));
  pool_.barrier();
}

LayerHarness::LayerHarness(const std::string& yaml, const Shape& sample, const Options& options)
    : rows_(options.rows),
      lengths_(options.lengths),
      own_parameters_(options.input_gradient ? 1 : 0),
      pool_(options.workers),
      blocks_{.count = options.exact_blocks > 0 ? options.exact_blocks : options.workers,
              .threads = options.workers,
              .exact = options.exact_blocks > 0},
      tree_(layer_list(yaml)) {
  input_gradient_.resize(static_cast<std::size_t>(rows_ * sample.size()));
  network_ = std::make_unique<Network>(
      tree_.root().items("layers"), sample,
      Network::Options{.batch = rows_, .blocks = blocks_, .rewrite = [&](Sequence& layers) {
                         if (options.input_gradient)
                           layers.entries().insert(layers.entries().begin(),
                                                   {std::make_unique<InputProbe>(input_gradient_), "probe"});
                       }});
  const std::int64_t size = plan().parameter_end();
  parameters_ = Arena(size);
  const RandomStream stream(7, "parameters");
  std::ranges::generate(parameters_.floats(),
                        [&, i = std::uint64_t{0}]() mutable { return stream.uniform(i++) - 0.5f; });
  std::vector<std::span<float>> gradients;
  std::vector<Range> roots;
  for (int worker = 0; worker < blocks_.threads; ++worker) {
    const SumTree mine = SumTree::of_leaves(blocks_.count, blocks_.of_worker(0, worker));
    roots.insert(roots.end(), mine.roots().begin(), mine.roots().end());
  }
  for (std::size_t root = 0; root < roots.size(); ++root) {
    gradients_.emplace_back(size);
    gradients.push_back(gradients_.back().floats());
    // What a layer forgets to write is found by every comparison, where a block has its worker by itself.
    std::ranges::fill(gradients.back(), std::numeric_limits<float>::quiet_NaN());
  }
  sum_of_workers_ = SumTree(blocks_.count, std::move(roots));
  network_->attach(parameters_.floats(), gradients, sum_);
  samples_.resize(static_cast<std::size_t>(rows_));
  std::iota(samples_.begin(), samples_.end(), 0);
}

std::vector<float> LayerHarness::gradient(const Parameter& parameter) const {
  std::vector<float> sum(static_cast<std::size_t>(parameter.shape.size()));
  std::vector<const float*> inputs;
  for (const Arena& gradient : gradients_) inputs.push_back(part(gradient.floats(), parameter).data());
  float* const root = sum.data();
  sum_of_workers_.sum(inputs, {&root, 1}, 0, std::ssize(sum));
  return sum;
}

std::vector<float> LayerHarness::gradient_of_block(const Parameter& parameter) const {
  const auto numbers = network_->gradient_of_block().subspan(
      static_cast<std::size_t>(parameter.offset), static_cast<std::size_t>(parameter.shape.size()));
  return {numbers.begin(), numbers.end()};
}

std::span<float> LayerHarness::values(const State& state) {
  return network_->states().subspan(static_cast<std::size_t>(state.offset),
                                    static_cast<std::size_t>(state.shape.size()));
}

std::vector<float> LayerHarness::forward(std::span<const float> x, Mode mode) {
  const std::int64_t in = input().size(), out = output().size();
  std::vector<float> y(static_cast<std::size_t>(rows_ * out));
  pool_.run([&](int worker) {
    const std::int64_t first = rows_of(worker).first, count = rows_of(worker).count();
    std::copy_n(x.data() + first * in, count * in, network_->input(worker, count).data());
    const auto mine = [&]<class Number>(std::span<const Number> all) {
      return all.empty() ? all
                         : all.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count));
    };
    const ConstTensor part =
        network_->forward(worker, {.mode = mode,
                                   .samples = mine(std::span<const std::int64_t>(samples_)),
                                   .batch_rows = rows_,
                                   .lengths = mine(std::span<const std::int32_t>(lengths_))});
    std::ranges::copy(part.span(), y.data() + first * out);
  });
  return y;
}

std::vector<float> LayerHarness::backward(std::span<const float> dy, GradientSink* sink) {
  pool_.run([&](int worker) {
    const Tensor place = network_->output_gradient(worker);
    std::copy_n(dy.data() + rows_of(worker).first * output().size(), place.size(), place.data());
    network_->backward(worker, sink);
  });
  return input_gradient_;
}

}  // namespace trainer
