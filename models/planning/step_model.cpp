#include "models/planning/step_model.h"

#include <algorithm>
#include <deque>

namespace trainer {
namespace {

/// A core adds the parts that other nodes sent at about this many bytes a second.
constexpr double kAddedBytes = 8e9;

int nodes_of(const StepWork& work, const StepWork::Bucket& bucket) {
  return bucket.nodes > 0 ? bucket.nodes : work.nodes;
}

/// Over the bandwidth that the bucket has.
double bytes_of_parameters(const StepWork& work, const StepWork::Bucket& bucket) {
  return work.parameter_bytes * static_cast<double>(bucket.last - bucket.first) / bucket.of_link;
}
double bytes_of_gradients(const StepWork& work, const StepWork::Bucket& bucket) {
  const int values = bucket.gradients > 0 ? bucket.gradients : work.gradients;
  return values * work.gradient_bytes * static_cast<double>(bucket.last - bucket.first) / bucket.of_link;
}

/// One rank and its link, for the exchanges of one direction: gradients in backward, parameters in forward.
class Clock {
 public:
  Clock(const StepWork& work, const LinkCost& cost, StepTime& time) : work_(work), cost_(cost), time_(time) {}

  double now() const { return now_; }
  void compute(double seconds) { advance(seconds); }
  /// Computes a layer, which waits for its sums in between.
  void compute(double seconds, double waits, const std::vector<double>& sums, int nodes) {
    for (const double bytes : sums) {
      advance(seconds / static_cast<double>(sums.size()));
      wait_in_layer(sum(bytes, nodes));
    }
    if (sums.empty()) advance(seconds);
    wait_in_layer(waits);
  }
  /// Returns when an exchange of `bytes` that starts now is complete.
  double exchange(const StepWork::Bucket& bucket, double bytes) {
    const int nodes = nodes_of(work_, bucket);
    const LinkCost::Time alone = cost_.exchange(bytes, nodes);
    const double begin = std::max(now_, link_free_);
    now_ += alone.sender;
    time_.sending += alone.sender;
    // The link waits for the last message where the thread is the slower one.
    link_free_ = std::max(begin + alone.busy, now_ + alone.busy / (nodes - 1));
    time_.wire += alone.busy;
    return link_free_ + cost_.latency;
  }
  double wait(double until) {
    const double waited = std::max(0.0, until - now_);
    now_ += waited;
    return waited;
  }
  void add(double bytes) {
    now_ += bytes / kAddedBytes;
    time_.adding += bytes / kAddedBytes;
  }

 private:
  /// Computing and the messages on the link delay each other by the overhead of the bytes; all else stays in
  /// its order, so this clock leaves the delay out.
  void advance(double seconds) {
    const double on_link = std::clamp(link_free_ - now_, 0.0, seconds);
    time_.handling += cost_.overhead_per_byte / cost_.seconds_of_byte() * on_link;
    now_ += seconds;
  }
  void wait_in_layer(double seconds) {
    now_ += seconds;
    time_.layers += seconds;
  }
  /// The seconds of a sum. A part of it may share the link; the rest has it alone.
  double sum(double bytes, int nodes) const {
    const double alone = cost_.sum(bytes, nodes, false), shared = cost_.sum(bytes, nodes, true);
    const double busy = std::max(0.0, link_free_ - now_);
    if (shared <= busy) return shared;
    return alone > 0 ? busy + (1 - busy / shared) * alone : 0;
  }

  const StepWork& work_;
  const LinkCost& cost_;
  StepTime& time_;
  double now_ = 0, link_free_ = 0;
};

/// Forward of a micro-batch, with new parameters if they are gathered.
void forward(const StepWork& work, const LinkCost& cost, bool gathers, StepTime& time) {
  struct Arrival {
    double time;
    std::int64_t end;  ///< of the parameters that are here then
  };
  Clock clock(work, cost, time);
  std::deque<Arrival> arrivals;
  for (auto bucket = work.buckets.rbegin(); gathers && bucket != work.buckets.rend(); ++bucket)
    if (nodes_of(work, *bucket) > 1)
      arrivals.push_back({clock.exchange(*bucket, bytes_of_parameters(work, *bucket)), bucket->last});
  if (!work.publish_overlaps && !arrivals.empty()) {
    time.publish += clock.wait(arrivals.back().time);
    arrivals.clear();
  }
  clock.compute(work.data);
  std::int64_t here = 0;
  for (const StepWork::Layer& layer : work.layers) {
    while (layer.parameters.count() > 0 && here < layer.parameters.last && !arrivals.empty()) {
      time.publish += clock.wait(arrivals.front().time);
      here = arrivals.front().end;
      arrivals.pop_front();
    }
    clock.compute(layer.forward, layer.forward_waits, layer.forward_sums, layer.sum_nodes);
  }
}

/// Backward of a micro-batch until the sums of all gradients are here.
void backward(const StepWork& work, const LinkCost& cost, StepTime& time) {
  struct Message {
    double complete, bytes;
  };
  Clock clock(work, cost, time);
  std::deque<Message> under_way;
  auto bucket = work.buckets.begin();
  const auto start = [&] {
    if (nodes_of(work, *bucket) < 2) return void(++bucket);
    // Before the backward of its layers the parameters are gathered again.
    if (work.gathers_again) clock.exchange(*bucket, bytes_of_parameters(work, *bucket));
    const double bytes = bytes_of_gradients(work, *bucket);
    under_way.push_back({clock.exchange(*bucket, bytes), bytes});
    ++bucket;
  };
  const auto add = [&] {
    clock.add(under_way.front().bytes);
    under_way.pop_front();
  };
  for (auto layer = work.layers.rbegin(); layer != work.layers.rend(); ++layer) {
    clock.compute(layer->backward, layer->backward_waits, layer->backward_sums, layer->sum_nodes);
    while (!under_way.empty() && under_way.front().complete <= clock.now()) add();
    std::int64_t final = 0;  // gradients from here on
    for (auto before = layer + 1; before != work.layers.rend(); ++before)
      if (before->parameters.count() > 0) final = std::max(final, before->parameters.last);
    while (bucket != work.buckets.end() && bucket->first >= final) start();
  }
  while (bucket != work.buckets.end()) start();
  while (!under_way.empty()) {
    time.reduce += clock.wait(under_way.front().complete);
    add();
  }
}

/// All ranks compute equally fast.
StepTime step_of_equals(const StepWork& work, const LinkCost& cost) {
  StepTime time;
  const double times = work.micro_batches;
  for (const StepWork::Layer& layer : work.layers) time.computing += times * (layer.forward + layer.backward);
  time.computing += times * (work.data + work.sums) + work.update;
  for (int batch = 0; batch < work.micro_batches; ++batch) {
    forward(work, cost, batch == 0 || work.gathers_again, time);
    backward(work, cost, time);
    for (const CompressedMessage& message : work.compressed) {
      const auto bytes = static_cast<double>(message.bytes);
      const LinkCost::Time exchange = cost.exchange(bytes, work.nodes);
      time.reduce += message.is_all_reduce ? cost.all_reduce(bytes, work.nodes) : exchange.complete;
      time.wire += (message.is_all_reduce ? 2 : 1) * exchange.busy;
    }
  }
  time.consensus = cost.sum(work.scalars, work.nodes, false);
  return time;
}

StepWork of_slowest(StepWork work) {
  for (StepWork::Layer& layer : work.layers) {
    layer.forward *= work.slowest_ratio;
    layer.backward *= work.slowest_ratio;
  }
  for (double* const part : {&work.data, &work.sums, &work.update}) *part *= work.slowest_ratio;
  return work;
}

}  // namespace

double StepTime::hidden() const { return wire > 0 ? std::clamp(1 - (reduce + publish) / wire, 0.0, 1.0) : 1; }

StepTime predict_step(const StepWork& work, const LinkCost& cost) {
  StepTime time = step_of_equals(work, cost);
  if (work.slowest_ratio > 1)
    time.slowest = std::max(0.0, step_of_equals(of_slowest(work), cost).total() - time.total());
  return time;
}

}  // namespace trainer
