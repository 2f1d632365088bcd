// Counts every malloc of the process, so it is a program of its own.
#include <atomic>
#include <catch2/catch.hpp>
#include <cstddef>

#include "engine/config/config_tree.h"
#include "models/runs/training_run.h"
#include "tests/support/noise_dataset.h"
#include "tests/support/sequence_datasets.h"
#include "tests/support/temporary_folder.h"

namespace {
std::atomic<long> allocations{0};
}

extern "C" {
// What glibc calls them. NOLINTBEGIN(bugprone-reserved-identifier)
void* __libc_malloc(std::size_t bytes);
void* __libc_calloc(std::size_t count, std::size_t bytes);
void* __libc_realloc(void* block, std::size_t bytes);
// NOLINTEND(bugprone-reserved-identifier)

void* malloc(std::size_t bytes) {
  ++allocations;
  return __libc_malloc(bytes);
}
void* calloc(std::size_t count, std::size_t bytes) {
  ++allocations;
  return __libc_calloc(count, bytes);
}
void* realloc(void* block, std::size_t bytes) {
  ++allocations;
  return __libc_realloc(block, bytes);
}
}

namespace trainer {
namespace {

/// Notes how much had been allocated after warming up and after a hundred steps more.
class Watch final : public Observer {
 public:
  void on_step(const StepReport& report) override {
    if (report.step == 20) begin_ = allocations;
    if (report.step == 120) end_ = allocations;
  }
  long in_a_hundred_steps() const { return end_ - begin_; }

 private:
  long begin_ = -1, end_ = -1;
};

}  // namespace

TEST_CASE("a hundred training steps allocate nothing", "[training]") {
  const int threads = GENERATE(1, 2);
  const std::string layers =
      GENERATE("[{dense: {units: 20, activation: relu}}, {dropout: 0.5}, {dense: 10}]",
               "[{conv: {filters: 8, kernel: 3, activation: relu}}, batch_norm, {max_pool: 2}, {residual: "
               "[{conv: {filters: 8, "
               "kernel: 3, pad: same}}, batch_norm, relu]}, global_avg_pool, {dense: 10}]",
               "[{embedding: {units: 8, vocabulary: 10, positions: learned, name: tokens}}, {lstm: 8}, {gru: "
               "{units: 4, bidirectional: true}}, {residual: [layer_norm, {attention: {heads: 2, causal: "
               "true, rotary: true}}]}, {dense: {units: 10, tie: tokens}}]",
               "[{embedding: {units: 8, vocabulary: 10, positions: learned, name: packed}}, {residual: "
               "[layer_norm, {attention: {heads: 2, causal: true}}]}, {dense: 10}]");
  const std::string mode =
      GENERATE("optimizer: {sgd: {lr: 0.01, momentum: 0.9}}",
               "optimizer: {sgd: {lr: 0.01, momentum: 0.9}}, exact: true, clip_norm: 0.1",
               "optimizer: {sgd: {lr: 0.01, momentum: 0.9}}, exact: true, chain: true",
               "optimizer: {muon: {lr: 0.01, normalize: true}}");
  const ConfigTree tree(
      {.file = "test.yaml",
       .text = "data: {dataset: digits}\nmodel: {layers: " + layers +
               ", loss: softmax_cross_entropy}\ntrain: {" + mode +
               ", batch: 16, steps: 120, metrics: [accuracy], evaluate: never, checkpoint: never}\n"},
      run_settings());
  const auto alone = solo();
  Mesh mesh(*alone, {});
  ThreadPool pool(threads, true);
  Data data{.name = "noise"};
  if (layers.find("name: packed") != std::string::npos)
    data.train = std::make_unique<PackedTokens>(16 * 500, 10, 1);
  else if (layers.find("embedding") == std::string::npos)
    data.train = std::make_unique<NoiseDataset>(16 * 500, Shape{8, 8, 1}, 10, 1);
  else
    data.train = std::make_unique<TokenDataset>(16 * 500, 12, 10, 1);
  Session session(tree.root(), std::move(data), mesh, pool);
  TrainingRun trainer(tree.root(), session, {});
  Watch watch;
  const TemporaryFolder folder;
  trainer.run({&watch}, folder.path());
  INFO(layers << " " << mode << " on " << threads << " threads");
  CHECK(watch.in_a_hundred_steps() == 0);
}

}  // namespace trainer
