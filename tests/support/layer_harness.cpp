#include "tests/support/layer_harness.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace trainer {
namespace {

/// The identity before the layers, which keeps the gradient of its output. Its unused parameter makes the
/// sequence compute that gradient, also where adapters freeze all else.
class InputProbe final : public Layer {
 public:
  explicit InputProbe(std::vector<float>& gradient) : gradient_(gradient) {}

  Shape setup(const Shape& sample, Plan& plan) override {
    plan.parameter({.name = "unused", .shape = {1}, .is_weight = false, .adapter = Parameter::Adapter::up});
    // Declares that backward reads x and y, so that no layer overwrites x.
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
  const Range mine = virtual_workers_.of_worker(0, worker);
  for (std::int64_t leaf = mine.first; leaf < mine.last; ++leaf) {
    const auto line = lines.subspan(static_cast<std::size_t>(leaf - mine.first) * total.size(), total.size());
    lines_[static_cast<std::size_t>(leaf)].assign(line.begin(), line.end());
  }
  pool_.barrier();
  std::vector<const double*> inputs;
  for (const auto& line : lines_) inputs.push_back(line.data());
  double* const root = total.data();
  SumTree::of_leaves(virtual_workers_.count, {0, virtual_workers_.count})
      .sum(inputs, {&root, 1}, 0, std::ssize(total));
  pool_.barrier();
}

LayerHarness::LayerHarness(const std::string& yaml, const Shape& sample, const Options& options)
    : rows_(options.rows),
      lengths_(options.lengths),
      own_parameters_(options.input_gradient ? 1 : 0),
      pool_(options.workers),
      virtual_workers_{
          .count = options.exact_virtual_workers > 0 ? options.exact_virtual_workers : options.workers,
          .threads = options.workers,
          .exact = options.exact_virtual_workers > 0},
      tree_(layer_list(yaml)) {
  input_gradient_.resize(static_cast<std::size_t>(rows_ * sample.size()));
  network_ = std::make_unique<Network>(
      tree_.root().items("layers"), sample,
      Network::Options{.batch = rows_,
                       .virtual_workers = virtual_workers_,
                       .stores_bfloat16 = options.stores_bfloat16,
                       .rewrite = [&](Sequence& layers) {
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
  for (int worker = 0; worker < virtual_workers_.threads; ++worker) {
    const SumTree mine = SumTree::of_leaves(virtual_workers_.count, virtual_workers_.of_worker(0, worker));
    roots.insert(roots.end(), mine.roots().begin(), mine.roots().end());
  }
  for (std::size_t root = 0; root < roots.size(); ++root) {
    gradients_.emplace_back(size);
    gradients.push_back(gradients_.back().floats());
    // An element that a layer does not write stays NaN, so that every comparison fails.
    std::ranges::fill(gradients.back(), std::numeric_limits<float>::quiet_NaN());
  }
  sum_of_workers_ = SumTree(virtual_workers_.count, roots);
  network_->attach(parameters_.floats(), {gradients, sum_});
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

std::vector<float> LayerHarness::kept_gradient(const Parameter& parameter) const {
  const auto values = network_->kept_gradient().subspan(static_cast<std::size_t>(parameter.offset),
                                                        static_cast<std::size_t>(parameter.shape.size()));
  return {values.begin(), values.end()};
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
