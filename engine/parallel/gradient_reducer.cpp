#include "engine/parallel/gradient_reducer.h"

#include <algorithm>
#include <array>
#include <optional>
#include <stdexcept>

#include "engine/core/wait_until.h"
#include "engine/parallel/bucket_plan.h"
#include "engine/parallel/node_window.h"
#include "engine/parallel/sum_in_order.h"

namespace trainer {
namespace {

/// A sum of fewer floats is done sooner by one thread than by waking others.
constexpr std::int64_t kFloatsWorthThreads = 1 << 16;

std::size_t at(int index) { return static_cast<std::size_t>(index); }

}  // namespace

struct GradientReducer::State {
  /// How far one worker has come in this step. Written by its own thread only.
  struct alignas(64) Worker {
    std::int64_t position = 0;
    int buckets = 0;
  };

  State(Mesh& grid, ThreadPool& threads, std::vector<std::int64_t> borders, const Options& settings)
      : mesh(grid), pool(threads), options(settings), workers(at(threads.size())) {
    total = borders.back();
    make_window();
    Communicator& data = mesh.data();

    std::array<double, 2> extremes{static_cast<double>(node_ranks), -static_cast<double>(node_ranks)};
    data.maximum(extremes);
    lanes = static_cast<int>(-extremes[1]);
    several_nodes = node_ranks < data.size();
    // In the window there is no latency to hide: one bucket is summed in one sweep.
    if (options.bucket_floats == 0)
      options.bucket_floats = several_nodes ? best_bucket(total, Link{}) : std::max<std::int64_t>(total, 1);
    buckets = plan_buckets(borders, options.bucket_floats);
    if (several_nodes)
      transport = extremes[0] > 1 ? "window + MPI" : "MPI";
    else if (data.size() > 1)
      transport = "window";
    const bool owns = node_rank < lanes;
    lane = data.split(owns ? node_rank : lanes, data.rank());
    nodes = owns ? lane->size() : 0;
    for (const Range& bucket : buckets) {
      lane_slices.push_back(owns ? slice(bucket, node_rank, lanes) : Range{});
      for (int node = 0; node < nodes; ++node)
        node_counts.push_back(slice(lane_slices.back(), node, nodes).size());
    }
    for (auto lane_slice = lane_slices.rbegin(); lane_slice != lane_slices.rend() && owns; ++lane_slice) {
      const Range mine = slice(*lane_slice, lane->rank(), nodes);
      if (!pieces.empty() && pieces.back().last == mine.first)
        pieces.back().last = mine.last;
      else if (mine.size() > 0)
        pieces.push_back({mine.first, mine.last});
    }
    exchanges.reserve(buckets.size());
    scalar_table.resize(at(data.size()) * NodeWindow::Layout::kTableColumns);
  }

  /// In memory that the node shares if all nodes can have it, else in private memory, every rank then being a
  /// node of its own.
  void make_window() {
    const auto layout_of = [&](Communicator& group) {
      std::vector<std::int64_t> threads(at(group.size()));
      threads[at(group.rank())] = pool.size();
      group.sum(threads);
      return NodeWindow::Layout{
          .floats = total, .workers = {threads.begin(), threads.end()}, .table_rows = mesh.data().size()};
    };
    if (options.share) {
      const NodeWindow::Layout layout = layout_of(mesh.node());
      std::unique_ptr<SharedMemory> memory = mesh.node().shared(layout.bytes());
      std::int64_t refusals = memory ? 0 : 1;
      mesh.data().sum(std::span(&refusals, 1));
      if (refusals == 0) {
        node_rank = mesh.node().rank();
        node_ranks = mesh.node().size();
        window.emplace(layout, std::move(memory), node_rank, options.crowded);
        return;
      }
      refused = true;
    }
    const auto alone = solo();
    const NodeWindow::Layout layout = layout_of(*alone);
    window.emplace(layout, alone->shared(layout.bytes()), 0, options.crowded);
  }

  bool sums_in_node() const { return window->all_gradients().size() > 1; }
  float* my_sums() const { return window->gradients(window->first_worker()); }
  std::int64_t progress_of(int bucket) const {
    return step * static_cast<std::int64_t>(buckets.size()) + bucket + 1;
  }

  /// Sums the buckets that every worker of the node has finished, and moves exchanges between nodes.
  void poll(bool with_pool) {
    const int first = next_bucket;
    while (next_bucket < static_cast<int>(buckets.size()) && window->all_reached(progress_of(next_bucket)))
      ++next_bucket;
    if (sums_in_node()) sum_in_node(first, next_bucket, with_pool);
    if (nodes > 1)
      for (int bucket = first; bucket < next_bucket; ++bucket) {
        const Range& lane_slice = lane_slices[at(bucket)];
        exchanges.push_back(lane->start_reduce_scatter(
            {my_sums() + lane_slice.first, static_cast<std::size_t>(lane_slice.size())}, counts(bucket)));
      }
    for (const auto& exchange : exchanges) exchange->test();
  }

  void sum_in_node(int first, int last, bool with_pool) {
    std::int64_t floats = 0;
    for (int bucket = first; bucket < last; ++bucket) floats += lane_slices[at(bucket)].size();
    const auto sum = [&](int part, int parts) {
      for (int bucket = first; bucket < last; ++bucket) {
        const Range range = slice(lane_slices[at(bucket)], part, parts);
        sum_in_order(window->all_gradients(), my_sums(), range.first, range.last);
      }
    };
    if (with_pool && floats >= kFloatsWorthThreads)
      pool.run([&](int worker) { sum(worker, pool.size()); });
    else
      sum(0, 1);
  }

  std::span<const std::int64_t> counts(int bucket) const {
    return std::span(node_counts).subspan(at(bucket * nodes), at(nodes));
  }

  Mesh& mesh;
  ThreadPool& pool;
  Options options;
  std::int64_t total = 0;
  std::vector<Range> buckets;
  std::optional<NodeWindow> window;
  int node_rank = 0, node_ranks = 1;  ///< ranks whose window this is
  bool several_nodes = false;
  bool refused = false;  ///< the window, for want of room
  std::string transport = "none";

  // Every node's rank l owns lane l, the l-th slice of each bucket; its ranks share it out between the nodes.
  // On nodes of more ranks than the smallest has, the ranks beyond own nothing.
  int lanes = 1, nodes = 1;  ///< nodes: 0 where this rank owns nothing
  std::unique_ptr<Communicator> lane;
  std::vector<Range> lane_slices;         ///< mine, by bucket
  std::vector<std::int64_t> node_counts;  ///< by bucket, then node
  std::vector<Piece> pieces;

  std::vector<Worker> workers;
  std::int64_t step = -1;
  int next_bucket = 0;  ///< the first that is not summed in the node
  std::vector<std::unique_ptr<Request>> exchanges;
  std::vector<double> scalar_table;
  int table = 0;
};

GradientReducer::GradientReducer(Mesh& mesh, ThreadPool& pool, std::vector<std::int64_t> borders,
                                 const Options& options)
    : state_(std::make_unique<State>(mesh, pool, std::move(borders), options)) {}

GradientReducer::~GradientReducer() = default;

std::span<float> GradientReducer::values() { return state_->window->values(); }

std::span<float> GradientReducer::gradients(int worker) {
  const NodeWindow& window = *state_->window;
  return {window.gradients(window.first_worker() + worker), static_cast<std::size_t>(state_->total)};
}

void GradientReducer::begin() {
  ++state_->step;
  state_->next_bucket = 0;
  state_->exchanges.clear();
  std::ranges::fill(state_->workers, State::Worker{.position = state_->total});
}

void GradientReducer::ready(int worker, std::int64_t first, std::int64_t last) {
  State::Worker& mine = state_->workers[at(worker)];
  if (last != mine.position || first > last || first < 0)
    throw std::logic_error("gradients must become ready from the end to the beginning, without gaps");
  mine.position = first;
  const int before = mine.buckets;
  while (mine.buckets < static_cast<int>(state_->buckets.size()) &&
         first <= state_->buckets[at(mine.buckets)].first)
    ++mine.buckets;
  if (mine.buckets > before)
    state_->window->set_progress(state_->window->first_worker() + worker,
                                 state_->progress_of(mine.buckets - 1));
  // Between nodes the sums must start early, and MPI moves them only inside its calls, which the main thread
  // alone may make. On one node several threads share the sums in finish() instead.
  if (worker == 0 && (state_->several_nodes || state_->pool.size() == 1)) state_->poll(false);
}

void GradientReducer::finish() {
  for (const State::Worker& worker : state_->workers)
    if (worker.position != 0) throw std::logic_error("finish() before all gradients were ready");
  const int buckets = static_cast<int>(state_->buckets.size());
  // Between nodes MPI wants to be polled meanwhile.
  if (!state_->several_nodes)
    for (int bucket = state_->next_bucket; bucket < buckets; bucket = state_->next_bucket) {
      state_->window->wait_for_progress(state_->progress_of(bucket));
      state_->poll(true);
    }
  wait_until(
      [&] {
        state_->poll(true);
        return state_->next_bucket == buckets;
      },
      state_->options.crowded);
  for (const auto& exchange : state_->exchanges) exchange->wait();
}

void GradientReducer::agree(std::span<double> scalars) {
  State& state = *state_;
  NodeWindow& window = *state.window;
  Communicator& data = state.mesh.data();
  const int ranks = data.size();
  do {
    const std::size_t count = std::min(scalars.size(), at(NodeWindow::Layout::kTableColumns));
    const std::span<double> part = scalars.first(count);
    scalars = scalars.subspan(count);
    state.table = 1 - state.table;
    std::ranges::copy(part, window.table_row(state.table, data.rank()).begin());
    window.barrier();
    if (state.several_nodes) {
      if (state.node_rank == 0) {
        // All rows but those of this node are 0, and x + 0 is x: the sum over nodes only collects rows.
        const std::span<double> rows = std::span(state.scalar_table).first(at(ranks) * count);
        std::ranges::fill(rows, 0.0);
        const int first = data.rank();
        for (int row = first; row < first + state.node_ranks; ++row)
          std::ranges::copy(window.table_row(state.table, row).first(count),
                            rows.subspan(at(row) * count).begin());
        if (rows.empty()) state.lane->barrier();
        state.lane->sum(rows);
        for (int row = 0; row < ranks; ++row)
          std::ranges::copy(rows.subspan(at(row) * count, count), window.table_row(state.table, row).begin());
      }
      window.barrier();
    }
    std::ranges::copy(window.table_row(state.table, 0).first(count), part.begin());
    for (int row = 1; row < ranks; ++row) {
      const std::span<const double> others = window.table_row(state.table, row);
      for (std::size_t i = 0; i < count; ++i) part[i] += others[i];
    }
  } while (!scalars.empty());
}

void GradientReducer::publish() {
  State& state = *state_;
  float* const values = state.window->values().data();
  state.exchanges.clear();
  for (int bucket = 0; state.nodes > 1 && bucket < static_cast<int>(state.buckets.size()); ++bucket) {
    const Range whole = state.lane_slices[at(bucket)], mine = slice(whole, state.lane->rank(), state.nodes);
    state.exchanges.push_back(state.lane->start_all_gather(
        {values + mine.first, static_cast<std::size_t>(mine.size())},
        {values + whole.first, static_cast<std::size_t>(whole.size())}, state.counts(bucket)));
  }
  for (const auto& exchange : state.exchanges) exchange->wait();
  state.window->barrier();
}

std::span<const GradientReducer::Piece> GradientReducer::pieces() const { return state_->pieces; }

std::span<const float> GradientReducer::sums(const Piece& piece) {
  return {state_->my_sums() + piece.first, static_cast<std::size_t>(piece.last - piece.first)};
}

std::string GradientReducer::transport() const { return state_->transport; }

bool GradientReducer::lacks_shared_memory() const { return state_->refused; }

}  // namespace trainer
