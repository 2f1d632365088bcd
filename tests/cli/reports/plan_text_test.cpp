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

TEST_CASE("a plan that needs too much names its largest part and what helps", "[cli]") {
  const std::string text = memory_text(two_parts(), 4, 22 << 20);
  CHECK(text.find("does not fit: 23.0 MiB of 22.0 MiB") != std::string::npos);
  CHECK(text.find("most of it: activations and scratch; what helps: ") != std::string::npos);
}

TEST_CASE("consecutive buckets stand in one line", "[cli]") {
  std::vector<Collective> all;
  for (const char* what : {"reduce-scatter of gradients, bucket 1", "reduce-scatter of gradients, bucket 2",
                           "all-reduce of loss, metrics and signals"})
    all.push_back({.what = what, .when = "backward", .members = 4, .bytes = 2048, .sent = 1536});
  const std::string text = collectives_text(all);
  CHECK(text.find("reduce-scatter of gradients, bucket 1 to bucket 2") != std::string::npos);
  CHECK(text.find("3.0 KiB") != std::string::npos);
  CHECK(text.find("4 hosts") != std::string::npos);
}

}  // namespace trainer
