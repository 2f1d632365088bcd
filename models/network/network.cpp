#include "models/network/network.h"

#include <algorithm>
#include <stdexcept>

#include "models/network/peephole.h"

namespace trainer {
namespace {

constexpr auto kFloatBytes = static_cast<std::int64_t>(sizeof(float));

}  // namespace

Network::Network(const std::vector<Config>& layers, const Shape& sample, const Options& options)
    : virtual_workers_(options.virtual_workers),
      rank_(options.rank),
      plan_(virtual_workers_.max_rows(options.batch), virtual_workers_.max_per_worker(), options.batch),
      layers_(layers),
      input_(sample),
      workers_(static_cast<std::size_t>(virtual_workers_.threads)) {
  fuse_relu_backward(layers_);
  if (options.rewrite) options.rewrite(layers_);
  x_ = plan_.saved(input_.size());
  output_ = layers_.setup(input_, plan_);
  if (options.low_rank > 0) plan_.add_low_rank_factors(options.low_rank);
  y_ = plan_.saved(output_.size());
  dy_ = plan_.scratch(output_.size());
  for (int index = 0; index < virtual_workers_.threads; ++index) {
    NetworkPass& pass = workers_[static_cast<std::size_t>(index)].pass;
    pass.worker_ = index;
    pass.seed_ = options.seed;
    pass.plan_ = pass.network_plan_ = &plan_;
    if (input_.rank() > 0) pass.positions_ = input_[0];
    pass.virtual_workers_.resize(static_cast<std::size_t>(virtual_workers_of(index).count()));
    pass.tree_ = SumTree::of_leaves(virtual_workers_.count, virtual_workers_of(index));
    if (virtual_workers_.rounds) pass.tree_.round_summands();
    pass.inputs_.resize(pass.virtual_workers_.size());
  }
}

std::span<float> Network::states() {
  if (!states_.floats().empty()) return states_.floats();
  states_ = Arena(plan_.state_end());
  for (const State& state : plan_.states())
    std::ranges::fill(states_.floats().subspan(static_cast<std::size_t>(state.offset),
                                               static_cast<std::size_t>(state.shape.size())),
                      state.constant);
  return states_.floats();
}

std::int64_t Network::worker_bytes() const { return plan_.memory_end() * kFloatBytes; }

void Network::attach(std::span<const float> values, std::vector<std::span<float>> gradients,
                     StatisticsReducer& sum) {
  std::int64_t roots_of_all = 0;
  for (const Worker& worker : workers_) roots_of_all += std::ssize(worker.pass.tree_.roots());
  if (!gradients.empty() && std::ssize(gradients) != roots_of_all)
    throw std::logic_error("a network needs a gradient for each root of its workers' trees");
  auto next = gradients.begin();
  for (Worker& worker : workers_) {
    worker.memory = Arena(plan_.memory_end());
    float* const saved = worker.memory.floats().data();
    float* const recomputed = saved + plan_.saved_end();
    worker.pass.regions_ = {saved, recomputed, recomputed + plan_.recomputed_end()};
    worker.pass.values_ = values.data();
    worker.pass.states_ = states().data();
    worker.pass.reducer_ = &sum;
    if (gradients.empty()) {
      for (VirtualWorker& virtual_worker : worker.pass.virtual_workers_) virtual_worker.gradients = nullptr;
      continue;
    }
    const auto roots = next;
    next += std::ssize(worker.pass.tree_.roots());
    attach_gradients(worker, {roots, next});
  }
}

void Network::attach_gradients(Worker& worker, std::span<const std::span<float>> roots) const {
  NetworkPass& pass = worker.pass;
  pass.roots_.clear();
  worker.gradients.clear();
  auto next = pass.virtual_workers_.begin();
  for (std::size_t root = 0; root < roots.size(); ++root) {
    pass.roots_.push_back(roots[root].data());
    const std::int64_t leaves = pass.tree_.roots()[root].count();
    // The gradient of a virtual worker that is a root by itself needs no sum.
    if (leaves == 1) (next++)->gradients = roots[root].data();
    for (std::int64_t i = 0; i < leaves && leaves > 1; ++i) {
      worker.gradients.push_back(private_memory(plan_.parameter_end() * kFloatBytes));
      (next++)->gradients = reinterpret_cast<float*>(worker.gradients.back()->bytes().data());
    }
  }
}

std::int64_t Network::gradient_bytes() const {
  std::int64_t floats = 0;
  for (const Worker& worker : workers_) {
    const NetworkPass& pass = worker.pass;
    const std::int64_t roots = std::ssize(pass.tree_.roots());
    floats += roots * plan_.parameter_end();
    const std::int64_t single =
        std::ranges::count_if(pass.tree_.roots(), [](const Range& root) { return root.count() == 1; });
    for (std::size_t index = 0; index < plan_.parameters().size(); ++index)
      if (!pass.layer_sums({.index = static_cast<int>(index)}))
        floats += (std::ssize(pass.virtual_workers_) - single) * plan_.parameters()[index].shape.size();
  }
  return floats * kFloatBytes;
}

void Network::keep_gradient_of(int virtual_worker) {
  kept_ = nullptr;
  for (Worker& worker : workers_) {
    std::vector<VirtualWorker>& own = worker.pass.virtual_workers_;
    const bool is_here = virtual_worker >= 0 && virtual_worker < std::ssize(own);
    worker.pass.kept_ = is_here ? virtual_worker : -1;
    if (is_here) kept_ = &own[static_cast<std::size_t>(virtual_worker)];
    virtual_worker -= static_cast<int>(std::ssize(own));
  }
}

std::span<const float> Network::kept_gradient() const {
  if (!kept_) throw std::logic_error("no virtual worker's gradient is kept on this rank");
  return {kept_->gradients, static_cast<std::size_t>(plan_.parameter_end())};
}

Tensor Network::input(int worker, std::int64_t rows) {
  Worker& self = workers_[static_cast<std::size_t>(worker)];
  self.x = Tensor(self.memory.floats().data() + x_.offset, input_.with_front(rows));
  return self.x;
}

ConstTensor Network::forward(int worker, const Rows& rows, ParameterSource* source) {
  Worker& self = workers_[static_cast<std::size_t>(worker)];
  NetworkPass& pass = self.pass;
  pass.source_ = source;
  pass.training_ = rows.mode == Mode::training;
  pass.step_ = rows.step;
  pass.samples_ = rows.samples;
  pass.lengths_ = rows.lengths;
  pass.batch_rows_ = rows.batch_rows;
  pass.mean_rows_ = rows.mean_rows > 0 ? rows.mean_rows : rows.batch_rows;
  const Range mine = virtual_workers_of(worker);
  const std::int64_t first_row = virtual_workers_.rows(mine, rows.batch_rows).first;
  pass.first_row_ = first_row;
  for (std::size_t i = 0; i < pass.virtual_workers_.size(); ++i) {
    const Range own = virtual_workers_.rows(mine.first + static_cast<std::int64_t>(i), rows.batch_rows);
    pass.virtual_workers_[i].first = own.first - first_row;
    pass.virtual_workers_[i].count = own.count();
  }
  const Shape shape = output_.with_front(pass.rows());
  self.y = pass.buffer(y_).as(shape);
  self.dy = pass.buffer(dy_).as(shape);
  layers_.forward(self.x, self.y, pass);
  return self.y;
}

Tensor Network::output_gradient(int worker) { return workers_[static_cast<std::size_t>(worker)].dy; }

void Network::backward(int worker, GradientSink* sink) {
  Worker& self = workers_[static_cast<std::size_t>(worker)];
  self.pass.sink_ = sink;
  layers_.backward(self.x, self.y, self.dy, Tensor(), self.pass);
  if (sink)
    self.pass.ready_from(0);
  else
    self.pass.sum_gradients(0, plan_.parameter_end());
}

}  // namespace trainer
