#include "models/planning/step_model.h"

#include <algorithm>
#include <catch2/catch.hpp>

namespace trainer {
namespace {

constexpr std::int64_t kFloats = 1'000'000;  // of a layer

/// Four equal layers of 1 ms forward and 2 ms backward, one bucket each.
StepWork four_layers(int nodes) {
  StepWork work{.update = 1e-3, .nodes = nodes, .scalars = 100};
  for (std::int64_t layer = 0; layer < 4; ++layer)
    work.layers.push_back(
        {.forward = 1e-3, .backward = 2e-3, .parameters = {layer * kFloats, (layer + 1) * kFloats}});
  for (std::int64_t layer = 4; layer-- > 0;) work.buckets.push_back({layer * kFloats, (layer + 1) * kFloats});
  return work;
}

LinkCost link(double bandwidth) { return {.latency = 20e-6, .bandwidth = bandwidth, .overhead = 1e-6}; }

constexpr double kComputing = 4 * 3e-3 + 1e-3, kBytes = 4.0 * 4 * kFloats;

}  // namespace

TEST_CASE("a step on one node computes and waits for nothing", "[planning]") {
  const StepTime time = predict_step(four_layers(1), link(1e9));
  CHECK(time.total() == Approx(kComputing));
  CHECK(time.waiting() == 0);
  CHECK(time.wire == 0);
}

TEST_CASE("rounded times of layers do not look like waiting", "[planning]") {
  StepWork work{.nodes = 1};
  for (const double seconds : {0.1, 0.2, 0.3, 0.7})
    work.layers.push_back({.forward = seconds, .backward = 2 * seconds});
  CHECK(predict_step(work, link(1e9)).waiting() == 0);
}

TEST_CASE("a step is never shorter than its computing nor than its bytes on the wire", "[planning]") {
  for (const double bandwidth : {1e7, 1e8, 1e9, 1e10, 1e12})
    for (const int nodes : {2, 4, 64}) {
      const StepTime time = predict_step(four_layers(nodes), link(bandwidth));
      const double bytes = 2 * (nodes - 1.0) / nodes * kBytes;
      INFO(bandwidth << " bytes/s, " << nodes << " nodes");
      CHECK(time.wire >= (1 - 1e-9) * bytes / bandwidth);
      CHECK(time.total() >= kComputing);
      CHECK(time.total() >= time.wire);
    }
}

TEST_CASE("more bandwidth never makes a step slower", "[planning]") {
  double before = 1e9;
  for (double bandwidth = 1e7; bandwidth < 1e12; bandwidth *= 2) {
    const double total = predict_step(four_layers(8), link(bandwidth)).total();
    CHECK(total <= before);
    before = total;
  }
}

TEST_CASE("on a fast link a step waits for the last bucket and the first parameters alone", "[planning]") {
  const LinkCost fast = link(1e10);
  const StepTime time = predict_step(four_layers(4), fast);
  const LinkCost::Time bucket = fast.exchange(4.0 * kFloats, 4);
  CHECK(time.publish == Approx(bucket.complete).epsilon(0.05));
  CHECK(time.sending + time.reduce >= bucket.complete);
  CHECK(time.reduce < 3 * (bucket.complete + 4.0 * kFloats / 8e9));
  CHECK(time.hidden() > 0);
}

TEST_CASE("what is reduced while backward runs is hidden: smaller buckets leave less behind", "[planning]") {
  StepWork one_bucket = four_layers(4);
  one_bucket.buckets = {{0, 4 * kFloats}};
  const LinkCost fast = link(1e10);
  const StepTime several = predict_step(four_layers(4), fast), one = predict_step(one_bucket, fast);
  CHECK(several.reduce < one.reduce);
  CHECK(several.publish < one.publish);
  CHECK(one.hidden() == 0);
}

TEST_CASE("parameters that do not overlap forward are waited for in full", "[planning]") {
  StepWork work = four_layers(2);
  work.publish_overlaps = false;
  const LinkCost slow = link(1e9);
  const StepTime time = predict_step(work, slow);
  CHECK(time.publish == Approx(4 * slow.exchange(4.0 * kFloats, 2).busy + 20e-6 - 3e-6));
}

TEST_CASE("each micro-batch computes and reduces, but parameters travel once", "[planning]") {
  StepWork work = four_layers(4);
  const StepTime once = predict_step(work, link(1e9));
  work.micro_batches = 3;
  const StepTime thrice = predict_step(work, link(1e9));
  CHECK(thrice.computing == Approx(3 * (once.computing - 1e-3) + 1e-3));
  CHECK(thrice.reduce == Approx(3 * once.reduce));
  CHECK(thrice.publish == Approx(once.publish));
}

TEST_CASE("exchanges inside layers are added to the step and give gradients more time", "[planning]") {
  StepWork work = four_layers(4);
  const StepTime without = predict_step(work, link(1e9));
  for (StepWork::Layer& layer : work.layers) layer.backward_waits = 1e-3;
  const StepTime with = predict_step(work, link(1e9));
  CHECK(with.layers == Approx(4e-3));
  CHECK(with.reduce <= without.reduce);
  CHECK(with.total() >= without.total());
}

TEST_CASE("starting a message takes time of the rank for each bucket and each other node, there and back",
          "[planning]") {
  const StepTime time = predict_step(four_layers(1024), link(1e12));
  CHECK(time.sending == Approx(2 * 4 * 1023e-6));
  CHECK(time.total() >= kComputing + time.sending);
}

TEST_CASE("bytes on the link delay what computes meanwhile by their overhead, and waiting hides it",
          "[planning]") {
  // One layer of 1 ms forward and 2 ms backward. Its parameters are awaited before forward, its gradients
  // after backward: nothing computes meanwhile.
  StepWork work{.layers = {{.forward = 1e-3, .backward = 2e-3, .parameters = {0, kFloats}}},
                .buckets = {{0, kFloats}},
                .nodes = 2};
  LinkCost cost = link(1e9);
  cost.overhead_per_byte = 0.25e-9;
  CHECK(predict_step(work, cost).handling == 0);
  CHECK(predict_step(work, cost).total() == predict_step(work, link(1e9)).total());
  // Two layers before it compute while half of its 4 MB cross the link, which takes 2 ms: first all of their
  // 0.5 ms of forward, then all of their 1 ms of backward, each with 1/4 of it for the bytes.
  work.layers.insert(work.layers.begin(), 2, {.forward = 0.25e-3, .backward = 0.5e-3});
  const StepTime time = predict_step(work, cost), without = predict_step(work, link(1e9));
  CHECK(time.handling == Approx(0.25 * 1.5e-3));
  CHECK(time.total() == Approx(without.total() + time.handling));
  // Four times the computing: all 2 ms of the link are delayed, in either direction.
  for (StepWork::Layer& layer : work.layers)
    if (layer.parameters.count() == 0) layer.forward *= 8, layer.backward *= 4;
  CHECK(predict_step(work, cost).handling == Approx(0.25 * 2 * 2e-3).epsilon(0.01));
}

TEST_CASE("messages take at most every second moment from computing", "[planning]") {
  StepWork work{.layers = {{.forward = 1e-3}, {.forward = 1e-3, .parameters = {0, kFloats}}},
                .buckets = {{0, kFloats}},
                .nodes = 2};
  LinkCost cost = link(1e9);
  cost.overhead_per_byte = 5e-9;
  const StepTime time = predict_step(work, cost);
  CHECK(time.handling == Approx(1e-3));
  CHECK(time.publish == Approx(5e-9 * 2e6 - 1e-3 + 20e-6));
}

TEST_CASE("a step takes as long as its slowest rank computes, where messages hide none of it", "[planning]") {
  StepWork work = four_layers(1);
  CHECK(predict_step(work, link(1e9)).slowest == 0);
  work.slowest_ratio = 1.1;
  const StepTime alone = predict_step(work, link(1e9));
  CHECK(alone.computing == Approx(kComputing));
  CHECK(alone.slowest == Approx(0.1 * kComputing));
  CHECK(alone.total() == Approx(1.1 * kComputing));
  CHECK(alone.waiting() == Approx(alone.slowest));
}

TEST_CASE("a step waits once for the slowest rank, however many sums its layers have", "[planning]") {
  StepWork work = four_layers(2);
  work.slowest_ratio = 1.1;
  for (StepWork::Layer& layer : work.layers) layer.forward_sums.assign(10, 1e3);
  CHECK(predict_step(work, link(1e12)).slowest == Approx(0.1 * kComputing).epsilon(0.05));
}

TEST_CASE("a link that is busy with gradients and parameters hides the wait for the slowest rank",
          "[planning]") {
  StepWork work = four_layers(2);
  const StepTime equal = predict_step(work, link(1e8));
  work.slowest_ratio = 1.1;
  const StepTime time = predict_step(work, link(1e8));
  CHECK(time.total() == Approx(equal.total() + time.slowest));
  // A bucket takes 20 ms of the link. It is free during the update, forward of the last layer, whose
  // parameters come last, and backward of that layer.
  CHECK(time.slowest == Approx(0.1 * (1e-3 + 1e-3 + 2e-3)));
}

TEST_CASE("sums inside layers take longer while the link carries gradients or parameters", "[planning]") {
  StepWork work = four_layers(64);
  for (StepWork::Layer& layer : work.layers) {
    layer.forward_sums = {4096, 4096};
    layer.sum_nodes = 64;
  }
  const LinkCost fast = link(1e10);
  const double alone = 8 * fast.sum(4096, 64, false), shared = 8 * fast.sum(4096, 64, true);
  const double busy = predict_step(work, fast).layers;
  CHECK(busy > alone);
  CHECK(busy < shared);
  work.publish_overlaps = false;
  CHECK(predict_step(work, fast).layers == Approx(alone));
}

}  // namespace trainer
