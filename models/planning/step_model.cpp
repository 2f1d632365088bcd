#include "models/planning/step_model.h"

#include <algorithm>

namespace trainer {
namespace {

/// A core adds the parts that other nodes sent at about this many bytes a second.
constexpr double kAddedBytes = 8e9;

/// Over the bandwidth that the bucket has.
double bytes_of(const StepWork& work, const StepWork::Bucket& bucket) {
  return work.value_bytes * static_cast<double>(bucket.last - bucket.first) / bucket.of_link;
}

LinkCost::Time exchange_of(const StepWork& work, const StepWork::Bucket& bucket, double bytes,
                           const LinkCost& cost) {
  const int nodes = bucket.nodes > 0 ? bucket.nodes : work.nodes;
  return nodes > 1 ? cost.exchange(bytes, nodes) : LinkCost::Time{};
}

/// The time from the end of backward until the sums of all gradients are here. Adds to `wire`.
double wait_for_gradients(const StepWork& work, const LinkCost& cost, double& wire) {
  double clock = 0;
  std::vector<double> passed;  // for each layer, from the last on: when its gradients are final
  for (auto layer = work.layers.rbegin(); layer != work.layers.rend(); ++layer)
    passed.push_back(clock += layer->backward + layer->backward_waits);
  double link_free = 0, complete = clock;
  for (const StepWork::Bucket& bucket : work.buckets) {
    double ready = 0;
    auto time = passed.begin();
    for (auto layer = work.layers.rbegin(); layer != work.layers.rend(); ++layer, ++time)
      if (layer->parameters.count() > 0 && layer->parameters.last > bucket.first) ready = *time;
    const double bytes = (bucket.gradients > 0 ? bucket.gradients : work.gradients) * bytes_of(work, bucket);
    const LinkCost::Time exchange = exchange_of(work, bucket, bytes, cost);
    if (work.gathers_again) {  // its parameters, before the backward of its layers
      const double busy = exchange_of(work, bucket, bytes_of(work, bucket), cost).busy;
      link_free += busy;
      wire += busy;
    }
    const double begin = std::max(ready, link_free);
    link_free = begin + exchange.busy;
    complete = std::max(complete, begin + exchange.complete + bytes / kAddedBytes);
    wire += exchange.busy;
  }
  return complete - clock;
}

/// The time that the step waits for new parameters. Adds to `wire`.
double wait_for_parameters(const StepWork& work, const LinkCost& cost, double& wire) {
  struct Arrival {
    double time;
    std::int64_t end;  ///< of the parameters that are here then
  };
  std::vector<Arrival> arrivals;
  double link_free = 0;
  for (auto bucket = work.buckets.rbegin(); bucket != work.buckets.rend(); ++bucket) {
    const LinkCost::Time exchange = exchange_of(work, *bucket, bytes_of(work, *bucket), cost);
    arrivals.push_back({link_free + exchange.complete, bucket->last});
    link_free += exchange.busy;
  }
  wire += link_free;
  if (arrivals.empty()) return 0;
  if (!work.publish_overlaps) return arrivals.back().time;
  double clock = work.data, waited = 0;
  std::int64_t here = 0;
  auto next = arrivals.begin();
  for (const StepWork::Layer& layer : work.layers) {
    for (; layer.parameters.count() > 0 && here < layer.parameters.last && next != arrivals.end(); ++next) {
      waited += std::max(0.0, next->time - clock);
      clock = std::max(clock, next->time);
      here = next->end;
    }
    clock += layer.forward + layer.forward_waits;
  }
  return waited;
}

}  // namespace

double StepTime::hidden() const { return wire > 0 ? std::clamp(1 - (reduce + publish) / wire, 0.0, 1.0) : 1; }

StepTime predict_step(const StepWork& work, const LinkCost& cost) {
  StepTime time;
  const double times = work.micro_batches;
  for (const StepWork::Layer& layer : work.layers) {
    time.computing += times * (layer.forward + layer.backward);
    time.layers += times * (layer.forward_waits + layer.backward_waits);
  }
  time.computing += times * (work.data + work.sums) + work.update;
  if (work.nodes < 2) return time;
  for (int batch = 0; batch < work.micro_batches; ++batch) {
    time.reduce += wait_for_gradients(work, cost, time.wire);
    for (const CompressedMessage& message : work.compressed) {
      const auto bytes = static_cast<double>(message.bytes);
      const LinkCost::Time exchange = cost.exchange(bytes, work.nodes);
      time.reduce += message.is_all_reduce ? cost.all_reduce(bytes, work.nodes) : exchange.complete;
      time.wire += (message.is_all_reduce ? 2 : 1) * exchange.busy;
    }
    if (work.gathers_again && batch > 0) time.publish += wait_for_parameters(work, cost, time.wire);
  }
  time.consensus = cost.all_reduce(work.scalars, work.nodes);
  time.publish += wait_for_parameters(work, cost, time.wire);
  return time;
}

}  // namespace trainer
