#include "engine/parallel/gradient_reducer.h"

#include <algorithm>
#include <array>
#include <optional>
#include <stdexcept>

#include "engine/core/arena.h"
#include "engine/core/sum_tree.h"
#include "engine/core/virtual_workers.h"
#include "engine/parallel/bucket_plan.h"
#include "engine/parallel/node_window.h"
#include "engine/system/wait_until.h"

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
    Communicator& data = mesh.data();
    blocks = VirtualWorkers::one_for_each_worker(data.size(), pool.size());
    if (options.exact_blocks > 0) {
      blocks.count = options.exact_blocks;
      blocks.exact = true;
    }
    make_window();

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
        node_counts.push_back(slice(lane_slices.back(), node, nodes).count());
    }
    for (auto lane_slice = lane_slices.rbegin(); lane_slice != lane_slices.rend() && owns; ++lane_slice) {
      const Range mine = slice(*lane_slice, lane->rank(), nodes);
      if (!pieces.empty() && pieces.back().last == mine.first)
        pieces.back().last = mine.last;
      else if (mine.count() > 0)
        pieces.push_back({mine.first, mine.last});
      if (lane_slice->first < mine.first) copies.push_back({lane_slice->first, mine.first});
      if (mine.last < lane_slice->last) copies.push_back({mine.last, lane_slice->last});
    }
    exchanges.reserve(buckets.size());
    if (blocks.exact && nodes > 1) make_root_exchange();
    scalar_table.resize(at(data.size()) * NodeWindow::Layout::kTableColumns);
  }

  /// In memory that the node shares if all nodes can have it, else in private memory, every rank then being a
  /// node of its own.
  void make_window() {
    const int my_rank = mesh.data().rank();
    // The ranks of a node are consecutive in data().
    const auto use = [&](Communicator& group) {
      node_rank = group.rank();
      node_ranks = group.size();
      const int first = my_rank - node_rank;
      node_blocks = {blocks.of_rank(first).first, blocks.of_rank(first + node_ranks - 1).last};
      std::vector<Range> inputs;
      for (int rank = first; rank < first + node_ranks; ++rank) {
        if (rank == my_rank) my_first = static_cast<int>(inputs.size());
        for (int worker = 0; worker < pool.size(); ++worker) {
          const SumTree theirs = SumTree::of_leaves(blocks.count, blocks.of_worker(rank, worker));
          inputs.insert(inputs.end(), theirs.roots().begin(), theirs.roots().end());
        }
        if (rank == my_rank) my_count = static_cast<int>(inputs.size()) - my_first;
      }
      node_gradients = static_cast<int>(inputs.size());
      // Between nodes MPI adds whatever they send, unless the tree goes on there.
      tree = blocks.exact ? SumTree(blocks.count, std::move(inputs))
                          : SumTree::of_leaves(node_gradients, {0, node_gradients});
    };
    const auto layout = [&] {
      return NodeWindow::Layout{.floats = total,
                                .workers = std::vector<int>(at(node_ranks), pool.size()),
                                .gradients = node_gradients,
                                .table_rows = mesh.data().size(),
                                .first_rank = mesh.world().rank() - node_rank * mesh.model().size(),
                                .rank_step = mesh.model().size()};
    };
    if (options.share) {
      use(mesh.node());
      std::unique_ptr<SharedMemory> memory = mesh.node().shared(layout().bytes());
      std::int64_t refusals = memory ? 0 : 1;
      mesh.data().sum(std::span(&refusals, 1));
      if (refusals == 0) {
        window.emplace(layout(), std::move(memory), node_rank, options.crowded, mesh.world().heartbeat());
        return;
      }
      refused = true;
    }
    const auto alone = solo();
    use(*alone);
    window.emplace(layout(), alone->shared(layout().bytes()), 0, options.crowded, mesh.world().heartbeat());
  }

  /// What the tree leaves apart on each node of the lane goes to the owners of its slices: room for it.
  void make_root_exchange() {
    std::vector<std::int64_t> ends(at(2 * nodes));
    ends[at(2 * lane->rank())] = node_blocks.first;
    ends[at(2 * lane->rank() + 1)] = node_blocks.last;
    lane->sum(ends);
    std::vector<Range> all_roots;
    std::vector<std::int64_t> roots_of;
    for (int node = 0; node < nodes; ++node) {
      const SumTree theirs = SumTree::of_leaves(blocks.count, {ends[at(2 * node)], ends[at(2 * node + 1)]});
      all_roots.insert(all_roots.end(), theirs.roots().begin(), theirs.roots().end());
      roots_of.push_back(std::ssize(theirs.roots()));
    }
    const auto my_roots = std::ssize(tree.roots());
    root_tree = SumTree(blocks.count, all_roots);
    std::int64_t out = 0, in = 0;
    for (std::size_t bucket = 0; bucket < buckets.size(); ++bucket) {
      const Range mine = slice(lane_slices[bucket], lane->rank(), nodes);
      first_out.push_back(out);
      first_in.push_back(in);
      for (int node = 0; node < nodes; ++node) {
        counts_out.push_back(my_roots * slice(lane_slices[bucket], node, nodes).count());
        counts_in.push_back(roots_of[at(node)] * mine.count());
      }
      out += my_roots * lane_slices[bucket].count();
      in += std::ssize(all_roots) * mine.count();
    }
    first_out.push_back(out);
    first_in.push_back(in);
    roots_out = Arena(out);
    roots_in = Arena(in);
  }

  bool sums_in_node() const { return nodes > 0 && (window->all_gradients().size() > 1 || sends_roots()); }
  bool sends_roots() const { return !counts_out.empty(); }
  float* my_sums() const { return window->gradients(my_first); }
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
      for (int bucket = first; bucket < next_bucket; ++bucket) exchanges.push_back(start_exchange(bucket));
    for (const auto& exchange : exchanges) exchange->test();
  }

  std::unique_ptr<Request> start_exchange(int bucket) {
    const Range& lane_slice = lane_slices[at(bucket)];
    if (!sends_roots())
      return lane->start_reduce_scatter({my_sums() + lane_slice.first, size_of(lane_slice)},
                                        of_bucket(node_counts, bucket));
    const auto part = [&](Arena& memory, const std::vector<std::int64_t>& firsts) {
      return memory.floats().subspan(static_cast<std::size_t>(firsts[at(bucket)]),
                                     static_cast<std::size_t>(firsts[at(bucket + 1)] - firsts[at(bucket)]));
    };
    return lane->start_all_to_all(part(roots_out, first_out), of_bucket(counts_out, bucket),
                                  part(roots_in, first_in), of_bucket(counts_in, bucket));
  }

  /// work(part, parts), by the pool where it is worth it.
  template <class Work>
  void share_out(std::int64_t floats, bool with_pool, const Work& work) {
    if (with_pool && floats >= kFloatsWorthThreads)
      pool.run([&](int worker) { work(worker, pool.size()); });
    else
      work(0, 1);
  }

  void sum_in_node(int first, int last, bool with_pool) {
    std::int64_t floats = 0;
    for (int bucket = first; bucket < last; ++bucket) floats += lane_slices[at(bucket)].count();
    share_out(floats, with_pool, [&](int part, int parts) {
      for (int bucket = first; bucket < last; ++bucket) {
        const Range range = slice(lane_slices[at(bucket)], part, parts);
        if (sends_roots())
          sum_into_messages(bucket, range);
        else
          sum_in_place(range);
      }
    });
  }

  /// One a bucket; none where there is one node.
  void wait_for_exchanges(const char* what) {
    if (exchanges.empty()) return;
    Heartbeat::Waiting waiting(mesh.world().heartbeat(), what, 0);
    int bucket = 0;
    for (const auto& exchange : exchanges) {
      waiting.for_bucket(bucket++);
      exchange->wait();
    }
  }

  void sum_in_place(const Range& range) {
    float* const sums = my_sums();
    tree.sum(window->all_gradients(), {&sums, 1}, range.first, range.last);
  }

  /// The roots of a part of a bucket, where the messages to the owners of its slices have them.
  void sum_into_messages(int bucket, const Range& part) {
    std::array<float*, SumTree::kMostRoots> roots{};
    float* message = roots_out.floats().data() + first_out[at(bucket)];
    for (int node = 0; node < nodes; ++node) {
      const Range theirs = slice(lane_slices[at(bucket)], node, nodes);
      for (std::size_t root = 0; root < tree.roots().size(); ++root, message += theirs.count())
        roots[root] = message - theirs.first;
      tree.sum(window->all_gradients(), std::span(roots).first(tree.roots().size()),
               std::max(part.first, theirs.first), std::min(part.last, theirs.last));
    }
  }

  /// The tree's last levels: my slices of what the nodes sent.
  void sum_received() {
    std::int64_t floats = 0;
    for (const Piece& piece : pieces) floats += piece.last - piece.first;
    share_out(floats, true, [&](int part, int parts) {
      std::array<const float*, VirtualWorkers::kMost> roots{};
      for (std::size_t bucket = 0; bucket < buckets.size(); ++bucket) {
        const Range mine = slice(lane_slices[bucket], lane->rank(), nodes);
        const Range range = slice(mine, part, parts);
        const float* from = roots_in.floats().data() + first_in[bucket];
        for (std::size_t root = 0; root < root_tree.inputs(); ++root, from += mine.count())
          roots[root] = from - mine.first;
        float* const sums = my_sums();
        root_tree.sum(std::span(roots).first(root_tree.inputs()), {&sums, 1}, range.first, range.last);
      }
    });
  }

  static std::size_t size_of(const Range& range) { return static_cast<std::size_t>(range.count()); }
  /// The part of numbers by bucket, then node.
  std::span<const std::int64_t> of_bucket(const std::vector<std::int64_t>& numbers, int bucket) const {
    return std::span(numbers).subspan(at(bucket * nodes), at(nodes));
  }

  Mesh& mesh;
  ThreadPool& pool;
  Options options;
  std::int64_t total = 0;
  std::vector<Range> buckets;
  std::optional<NodeWindow> window;
  int node_rank = 0, node_ranks = 1;  ///< ranks whose window this is
  VirtualWorkers blocks;
  Range node_blocks;                                   ///< of all ranks whose window this is
  int my_first = 0, my_count = 0, node_gradients = 0;  ///< mine among the window's gradients
  SumTree tree{1, {}};
  bool several_nodes = false;
  bool refused = false;  ///< the window, for want of room
  std::string transport = "none";

  // Every node's rank l owns lane l, the l-th slice of each bucket; its ranks share it out between the nodes.
  // On nodes of more ranks than the smallest has, the ranks beyond own nothing.
  int lanes = 1, nodes = 1;  ///< nodes: 0 where this rank owns nothing
  std::unique_ptr<Communicator> lane;
  std::vector<Range> lane_slices;         ///< mine, by bucket
  std::vector<std::int64_t> node_counts;  ///< by bucket, then node
  std::vector<Piece> pieces, copies;

  // In exact mode between nodes: by bucket, then by node of the lane, the roots of its slice.
  SumTree root_tree{1, {}};
  Arena roots_out, roots_in;
  std::vector<std::int64_t> first_out, first_in;    ///< by bucket
  std::vector<std::int64_t> counts_out, counts_in;  ///< by bucket, then node

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

int GradientReducer::gradient_count() const { return state_->my_count; }

std::span<float> GradientReducer::gradients(int index) {
  return {state_->window->gradients(state_->my_first + index), static_cast<std::size_t>(state_->total)};
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
      state_->window->wait_for_progress(state_->progress_of(bucket), bucket);
      state_->poll(true);
    }
  {
    Heartbeat::Waiting waiting(state_->mesh.world().heartbeat(), "the gradients of this node",
                               state_->next_bucket);
    wait_until(
        [&] {
          state_->poll(true);
          waiting.for_bucket(state_->next_bucket);
          return state_->next_bucket == buckets;
        },
        state_->options.crowded);
  }
  state_->wait_for_exchanges("the gradients of other nodes");
  if (state_->sends_roots()) state_->sum_received();
}

void GradientReducer::agree(std::span<double> scalars, std::size_t maxima) {
  State& state = *state_;
  NodeWindow& window = *state.window;
  Communicator& data = state.mesh.data();
  const int ranks = data.size();
  do {
    const std::size_t count = std::min(scalars.size(), at(NodeWindow::Layout::kTableColumns));
    const std::span<double> part = scalars.first(count);
    scalars = scalars.subspan(count);
    const std::size_t maxima_here = std::min(maxima - std::min(maxima, scalars.size()), count);
    const std::size_t added = count - maxima_here;
    state.table = 1 - state.table;
    std::ranges::copy(part, window.table_row(state.table, data.rank()).begin());
    window.barrier("the barrier before the update");
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
      window.barrier("the second barrier before the update");
    }
    std::ranges::copy(window.table_row(state.table, 0).first(count), part.begin());
    for (int row = 1; row < ranks; ++row) {
      const std::span<const double> others = window.table_row(state.table, row);
      for (std::size_t i = 0; i < added; ++i) part[i] += others[i];
      for (std::size_t i = added; i < count; ++i) part[i] = std::max(part[i], others[i]);
    }
  } while (!scalars.empty());
}

void GradientReducer::publish() {
  State& state = *state_;
  float* const values = state.window->values().data();
  state.exchanges.clear();
  for (int bucket = 0; state.nodes > 1 && bucket < static_cast<int>(state.buckets.size()); ++bucket) {
    const Range whole = state.lane_slices[at(bucket)], mine = slice(whole, state.lane->rank(), state.nodes);
    state.exchanges.push_back(state.lane->start_all_gather({values + mine.first, State::size_of(mine)},
                                                           {values + whole.first, State::size_of(whole)},
                                                           state.of_bucket(state.node_counts, bucket)));
  }
  state.wait_for_exchanges("the new parameters of other nodes");
  state.window->barrier("the barrier after the update");
}

std::span<const GradientReducer::Piece> GradientReducer::pieces() const { return state_->pieces; }

std::span<float> GradientReducer::sums(const Piece& piece) {
  return {state_->my_sums() + piece.first, static_cast<std::size_t>(piece.last - piece.first)};
}

std::vector<GradientReducer::Piece> GradientReducer::overwritten() const {
  const State& state = *state_;
  if (state.nodes <= 1 && !state.sums_in_node()) return {};
  std::vector<Piece> places = state.pieces;
  // Before MPI moves sums, those of the node lie in the whole lane; messages are memory of their own.
  if (!state.sends_roots()) places.insert(places.end(), state.copies.begin(), state.copies.end());
  return places;
}

std::span<const GradientReducer::Piece> GradientReducer::copies() const { return state_->copies; }

int GradientReducer::sharer() const { return state_->node_rank; }

int GradientReducer::sharers() const { return state_->node_ranks; }

std::string GradientReducer::transport() const { return state_->transport; }

bool GradientReducer::lacks_shared_memory() const { return state_->refused; }

}  // namespace trainer
