#include "models/network/network.h"

#include <algorithm>
#include <stdexcept>

#include "engine/parallel/paged_memory.h"
#include "models/network/peephole.h"

namespace trainer {
namespace {

constexpr auto kFloatBytes = static_cast<std::int64_t>(sizeof(float));

/// The share of a worker of batches of up to `batch` rows.
NetworkPlan::Share share_of(const VirtualWorkers& workers, std::int64_t batch) {
  return {.max_rows = workers.max_rows(batch), .max_virtual_workers = workers.max_per_worker()};
}

/// Whether a layer has an adapter, also inside another one.
bool has_adapters(Sequence& layers) {
  return std::ranges::any_of(layers.entries(), [](const Sequence::Entry& entry) {
    if (entry.type == "dense" || entry.type == "attention") return entry.config && entry.config->has("lora");
    auto* const composite = dynamic_cast<CompositeLayer*>(entry.layer.get());
    return composite &&
           std::ranges::any_of(composite->sequences(), [](Sequence* inner) { return has_adapters(*inner); });
  });
}

}  // namespace

Network::Network(const std::vector<Config>& layers, const Shape& sample, const Options& options)
    : virtual_workers_(options.virtual_workers),
      split_workers_(options.split_workers.value_or(virtual_workers_)),
      rank_(options.rank),
      split_rank_(options.split_rank),
      plan_(share_of(virtual_workers_, options.batch), share_of(split_workers_, options.batch), options.batch,
            options.positions),
      layers_(layers),
      input_(sample),
      workers_(static_cast<std::size_t>(virtual_workers_.threads)) {
  fuse_relu_backward(layers_);
  if (options.rewrite) options.rewrite(layers_);
  splits_rows_ = !layers_.entries().empty() && layers_.entries().front().splits_rows;
  {
    const SplitRowsPlan share(plan_, splits_rows_);
    x_ = plan_.saved(input_.size());
  }
  if (has_adapters(layers_)) plan_.freeze();
  if (options.is_packed) plan_.pack();
  if (options.stores_bfloat16) plan_.store_bfloat16();
  output_ = layers_.setup(input_, plan_);
  if (options.compression.has_feedback()) plan_.add_feedback_states(options.compression);
  y_ = plan_.saved(output_.size());
  dy_ = plan_.scratch(output_.size());
  const std::int64_t border = split_parameter_end();
  for (int index = 0; index < virtual_workers_.threads; ++index) {
    Worker& worker = workers_[static_cast<std::size_t>(index)];
    begin_pass(worker.pass, index, virtual_workers_, rank_, options);
    worker.pass.parameters_ = {border, plan_.parameter_end()};
    if (!splits_rows_) continue;
    begin_pass(worker.split, index, split_workers_, split_rank_, options);
    worker.split.parameters_ = {0, border};
    worker.pass.split_ = &worker.split;
  }
}

void Network::begin_pass(NetworkPass& pass, int worker, const VirtualWorkers& all, int rank,
                         const Options& options) {
  const Range mine = all.of_worker(rank, worker);
  pass.worker_ = worker;
  pass.seed_ = options.seed;
  pass.plan_ = pass.network_plan_ = &plan_;
  if (input_.rank() > 0) pass.positions_ = input_[0];
  pass.virtual_workers_.resize(static_cast<std::size_t>(mine.count()));
  pass.tree_ = SumTree::of_leaves(all.count, mine);
  if (all.rounds) pass.tree_.round_summands();
  pass.inputs_.resize(pass.virtual_workers_.size());
}

Range Network::input_rows_of(int worker, std::int64_t batch_rows) const {
  if (!splits_rows_) return rows_of(worker, batch_rows);
  return split_workers_.rows(split_workers_.of_worker(split_rank_, worker), batch_rows);
}

Range Network::input_rows(std::int64_t batch_rows) const {
  return splits_rows_ ? split_workers_.rows(split_workers_.of_rank(split_rank_), batch_rows)
                      : virtual_workers_.rows(virtual_workers_.of_rank(rank_), batch_rows);
}

std::int64_t Network::split_parameter_end() const {
  std::int64_t end = 0;
  for (const Sequence::Entry& entry : layers_.entries())
    if (entry.splits_rows) end = entry.parameter_end;
  return end;
}

std::span<float> Network::states() {
  if (plan_.state_end() == 0 || !states_.floats().empty()) return states_.floats();
  states_ = Arena(plan_.state_end(), MemoryKind::layer_states);
  for (const State& state : plan_.states())
    std::ranges::fill(states_.floats().subspan(static_cast<std::size_t>(state.offset),
                                               static_cast<std::size_t>(state.shape.size())),
                      state.constant);
  return states_.floats();
}

std::int64_t Network::worker_bytes() const { return Arena::bytes_of(plan_.memory_end()); }

void Network::attach(const FlatValues<const float>& values, const Sums& sums, const Sums* split) {
  if (splits_rows_ && !split) throw std::logic_error("layers that split rows need sums over all ranks");
  for (Worker& worker : workers_) {
    worker.memory = Arena(plan_.memory_end());
    worker.counted.clear();
    worker.gradients.clear();
    attach(worker.pass, worker, values, sums.statistics);
    if (splits_rows_) attach(worker.split, worker, values, split->statistics);
  }
  attach_gradients(&Worker::pass, sums);
  if (splits_rows_) attach_gradients(&Worker::split, *split);
}

void Network::attach(NetworkPass& pass, Worker& worker, const FlatValues<const float>& values,
                     StatisticsReducer& statistics) {
  float* const saved = worker.memory.floats().data();
  float* const recomputed = saved + plan_.saved_end();
  pass.regions_ = {saved, recomputed, recomputed + plan_.recomputed_end()};
  pass.first_float_ = pass.parameters_.first;
  pass.values_ = values.subspan(pass.parameters_.first, pass.parameters_.count()).data();
  pass.states_ = states().data();
  pass.reducer_ = &statistics;
}

/// Distributes the gradients over the workers' trees; none: for evaluation.
void Network::attach_gradients(NetworkPass Worker::*of_worker, const Sums& sums) {
  const std::vector<std::span<float>>& gradients = sums.gradients;
  std::int64_t roots_of_all = 0;
  for (const Worker& worker : workers_) roots_of_all += std::ssize((worker.*of_worker).tree_.roots());
  if (!gradients.empty() && std::ssize(gradients) != roots_of_all)
    throw std::logic_error("a network needs a gradient for each root of its workers' trees");
  auto next = gradients.begin();
  for (Worker& worker : workers_) {
    NetworkPass& pass = worker.*of_worker;
    pass.is_paged_ = sums.are_paged;
    if (gradients.empty()) {
      for (VirtualWorker& virtual_worker : pass.virtual_workers_) virtual_worker.gradients = nullptr;
      continue;
    }
    const auto roots = next;
    next += std::ssize(pass.tree_.roots());
    attach_gradients(pass, worker, {roots, next});
  }
}

void Network::attach_gradients(NetworkPass& pass, Worker& worker,
                               std::span<const std::span<float>> roots) const {
  pass.roots_.clear();
  auto next = pass.virtual_workers_.begin();
  const bool is_sparse = pages_of_virtual_worker(pass, false) < pass.parameters_.count() * kFloatBytes / 2;
  for (std::size_t root = 0; root < roots.size(); ++root) {
    pass.roots_.push_back(roots[root].data());
    const std::int64_t leaves = pass.tree_.roots()[root].count();
    // The gradient of a virtual worker that is a root by itself needs no sum.
    if (leaves == 1) (next++)->gradients = roots[root].data();
    for (std::int64_t i = 0; i < leaves && leaves > 1; ++i) {
      const std::int64_t bytes = pass.parameters_.count() * kFloatBytes;
      worker.gradients.push_back(pass.is_paged_ ? reserved_memory(bytes) : private_memory(bytes, is_sparse));
      const std::span<std::byte> memory = worker.gradients.back()->bytes();
      if (!pass.is_paged_)
        worker.counted.push_back(
            std::make_unique<CountedPages>(MemoryKind::virtual_worker_gradients, memory));
      (next++)->gradients = reinterpret_cast<float*>(memory.data());
    }
  }
}

std::int64_t Network::virtual_worker_bytes(bool are_paged) const {
  std::int64_t bytes = 0;
  for (const Worker& worker : workers_)
    for (const NetworkPass* pass : {&worker.pass, &worker.split})
      bytes += summed_gradients(*pass) * pages_of_virtual_worker(*pass, are_paged);
  return bytes;
}

std::int64_t Network::summed_gradients(const NetworkPass& pass) {
  const auto is_single = [](const Range& root) { return root.count() == 1; };
  return std::ssize(pass.virtual_workers_) - std::ranges::count_if(pass.tree_.roots(), is_single);
}

std::int64_t Network::pages_of_virtual_worker(const NetworkPass& pass, bool are_paged) const {
  const std::int64_t page = page_bytes(), all = pass.parameters_.count() * kFloatBytes;
  std::int64_t bytes = 0, end = 0, of_layer = 0, most_of_layer = 0;
  std::string layer;
  for (const Parameter& parameter : plan_.parameters()) {
    if (parameter.offset < pass.parameters_.first || parameter.offset >= pass.parameters_.last ||
        pass.layer_sums(parameter))
      continue;
    const std::int64_t first = (parameter.offset - pass.parameters_.first) * kFloatBytes,
                       last = first + parameter.shape.size() * kFloatBytes,
                       begin = std::max(end, first / page * page);
    end = (last + page - 1) / page * page;
    if (!are_paged) end = std::min(end, all);
    bytes += end - begin;
    if (!are_paged) continue;
    // Pages that lie wholly within a parameter are given back with its layer.
    const std::int64_t inside =
        std::max<std::int64_t>(0, last / page * page - (first + page - 1) / page * page);
    const std::string its_layer = parameter.module();
    of_layer = (its_layer == layer ? of_layer : 0) + inside;
    layer = its_layer;
    most_of_layer = std::max(most_of_layer, of_layer);
    bytes -= inside;
  }
  return bytes + most_of_layer;
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
  if (!source) source = source_;
  pass.source_ = source;
  pass.is_backward_ = self.split.is_backward_ = false;
  set_rows(pass, virtual_workers_, virtual_workers_of(worker), rows);
  if (splits_rows_) {
    Rows mine = rows;
    mine.samples = rows.input_samples;
    mine.lengths = rows.input_lengths;
    mine.position_ids = rows.input_position_ids;
    self.split.source_ = source;
    set_rows(self.split, split_workers_, split_workers_.of_worker(split_rank_, worker), mine);
  }
  const Shape shape = output_.with_front(pass.rows());
  self.y = pass.buffer(y_).as(shape);
  self.dy = pass.buffer(dy_).as(shape);
  layers_.forward(self.x, self.y, pass);
  return self.y;
}

void Network::set_rows(NetworkPass& pass, const VirtualWorkers& all, Range mine, const Rows& rows) {
  pass.training_ = rows.mode == Mode::training;
  pass.step_ = rows.step;
  pass.samples_ = rows.samples;
  pass.lengths_ = rows.lengths;
  pass.position_ids_ = rows.position_ids;
  pass.first_position_ = rows.first_position;
  pass.batch_rows_ = rows.batch_rows;
  pass.mean_rows_ = rows.mean_rows > 0 ? rows.mean_rows : rows.batch_rows;
  const std::int64_t first_row = all.rows(mine, rows.batch_rows).first;
  pass.first_row_ = first_row;
  for (std::size_t i = 0; i < pass.virtual_workers_.size(); ++i) {
    const Range own = all.rows(mine.first + static_cast<std::int64_t>(i), rows.batch_rows);
    pass.virtual_workers_[i].first = own.first - first_row;
    pass.virtual_workers_[i].count = own.count();
  }
}

Tensor Network::output_gradient(int worker) { return workers_[static_cast<std::size_t>(worker)].dy; }

void Network::backward(int worker, GradientSink* sink) {
  Worker& self = workers_[static_cast<std::size_t>(worker)];
  self.pass.sink_ = self.split.sink_ = sink;
  self.pass.is_backward_ = self.split.is_backward_ = true;
  layers_.backward(self.x, self.y, self.dy, Tensor(), self.pass);
  const auto end = [&](NetworkPass& pass) {
    if (sink)
      pass.ready_from(0);
    else
      pass.sum_gradients(pass.parameters_.first, pass.parameters_.last);
  };
  end(self.pass);
  if (splits_rows_) end(self.split);
}

}  // namespace trainer
