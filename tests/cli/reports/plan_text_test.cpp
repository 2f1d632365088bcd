#include "cli/reports/plan_text.h"

#include <catch2/catch.hpp>

namespace trainer {
namespace {

MemoryPlan two_parts() {
  return {
      .parts = {{.kind = "gradients", .bytes = 3 << 20, .sharers = 4, .on_host = 3 << 20},
                {.kind = "activations and scratch", .bytes = 5 << 20, .sharers = 1, .on_host = 20 << 20}}};
}

}  // namespace

TEST_CASE("a host with enough memory fits, and shared memory counts once", "[cli]") {
  const std::string text = memory_text(two_parts(), 4, 23 << 20);
  CHECK(text.find("4 ranks") != std::string::npos);
  CHECK(text.find("fits: 23.0 MiB of 23.0 MiB") != std::string::npos);
  CHECK(text.find("helps") == std::string::npos);
}

TEST_CASE("a layer's shards stand below one another, in a column that only sharded layers have", "[cli]") {
  LayerCost dense{.name = "dense1", .type = "dense", .output = {128}, .parameters = 9, .forward = 18};
  CHECK(layers_text({dense}) ==
        "layer   type   output  parameters  FLOPs  backward\n"
        "dense1  dense     128           9     18\n"
        "total                           9     18\n");
  dense.shard = "3x[0, 64), [0, 64)x3";
  CHECK(layers_text({dense}) ==
        "layer   type   output  parameters       shard  FLOPs  backward\n"
        "dense1  dense     128           9  3x[0, 64),     18\n"
        "                                    [0, 64)x3\n"
        "total                           9                 18\n");
  dense.shard = "rows / 2";
  CHECK(layers_text({dense}).find("  rows / 2  ") != std::string::npos);
}

TEST_CASE("a plan that needs too much names its largest part and what helps", "[cli]") {
  const std::string text = memory_text(two_parts(), 4, 22 << 20);
  CHECK(text.find("does not fit: 23.0 MiB of 22.0 MiB") != std::string::npos);
  CHECK(text.find("most of it: activations and scratch; what helps: a smaller") != std::string::npos);
}

TEST_CASE("consecutive buckets stand in one line", "[cli]") {
  std::vector<Collective> all;
  for (const char* what : {"reduce-scatter of gradients, bucket 1", "reduce-scatter of gradients, bucket 2",
                           "all-reduce of loss, metrics and signals"})
    all.push_back({.what = what, .when = "backward", .members = 4, .bytes = 2048, .sent = 1536});
  const std::string text = collectives_text(all);
  CHECK(text.find("reduce-scatter of gradients") != std::string::npos);
  CHECK(text.find("bucket 1 to") != std::string::npos);
  CHECK(text.find("3.0 KiB") != std::string::npos);
  CHECK(text.find("4 hosts") != std::string::npos);
}

}  // namespace trainer
