#include "cli/reports/plan_json.h"

#include <nlohmann/json.hpp>

namespace trainer {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const StepWork::Layer& layer, const std::string& name) {
  return {{"name", name},
          {"parameters", {layer.parameters.first, layer.parameters.last}},
          {"forward", layer.forward},
          {"backward", layer.backward},
          {"forward_waits", layer.forward_waits},
          {"backward_waits", layer.backward_waits},
          {"forward_sums", layer.forward_sums},
          {"backward_sums", layer.backward_sums},
          {"sum_hosts", layer.sum_nodes}};
}

Json json_of(const StepWork::Bucket& bucket, const StepWork& work) {
  const auto floats = static_cast<double>(bucket.last - bucket.first);
  return {{"floats", {bucket.first, bucket.last}},
          {"hosts", bucket.nodes > 0 ? bucket.nodes : work.nodes},
          {"bytes_of_gradients",
           work.gradient_bytes * floats * (bucket.gradients > 0 ? bucket.gradients : work.gradients)},
          {"bytes_of_parameters", work.parameter_bytes * floats}};
}

Json json_of(const StepTime& time) {
  return {{"step", time.total()},
          {"computing", time.computing},
          {"layers", time.layers},
          {"sending", time.sending},
          {"adding", time.adding},
          {"gradients", time.reduce},
          {"consensus", time.consensus},
          {"parameters", time.publish},
          {"handling", time.handling},
          {"slowest", time.slowest},
          {"link", time.wire}};
}

}  // namespace

std::string plan_json(const PlacedStep& step, const ComputingTimes& computing, const LinkCost& cost) {
  const StepWork work = work_of(step, computing, cost);
  const LinkCost link = cost_of_shard(step, cost);
  Json layers = Json::array(), buckets = Json::array();
  for (std::size_t layer = 0; layer < work.layers.size(); ++layer)
    layers.push_back(json_of(work.layers[layer], step.layers[layer].name));
  for (const StepWork::Bucket& bucket : work.buckets) buckets.push_back(json_of(bucket, work));
  const Json plan{{"ranks", step.ranks.mesh().world().size()},
                  {"hosts", step.ranks.nodes()},
                  {"micro_batches", step.micro_batches},
                  {"link",
                   {{"bandwidth", link.bandwidth},
                    {"latency", link.latency},
                    {"overhead", link.overhead},
                    {"overhead_per_byte", link.overhead_per_byte}}},
                  {"data", work.data},
                  {"layers", layers},
                  {"sums", work.sums},
                  {"buckets", buckets},
                  {"scalars", work.scalars},
                  {"update", work.update},
                  {"parameters_overlap_forward", work.publish_overlaps},
                  {"predicted", json_of(predict_step(work, link))}};
  return plan.dump(1) + "\n";
}

}  // namespace trainer
