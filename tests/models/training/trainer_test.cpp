#include "models/training/trainer.h"

#include <catch2/catch.hpp>

#include "engine/config/config_tree.h"
#include "models/training/settings.h"
#include "tests/support/mpi_main.h"
#include "tests/support/noise_dataset.h"

namespace trainer {
namespace {

/// Notes the order in which it is called.
class Noting final : public Hook {
 public:
  void on_start(std::int64_t done) override { note("start", done); }
  void before_step(std::int64_t step) override { note("step", step); }
  bool holds_gradients(const MicroBatch& batch) override { return batch.step == 1; }
  void after_backward(const MicroBatch& batch) override { note("backward", batch.number); }
  void before_consensus(const Progress& run, Signals& mine) override {
    note("consensus", run.step);
    mine.stop = stops_after == run.step && test_world().rank() == test_world().size() - 1;
  }
  void before_update(std::int64_t step, const Signals&) override { note("update", step); }
  void before_publish(std::int64_t done) override { note("publish", done); }
  void after_publish(std::int64_t done) override { note("published", done); }
  bool reads_parameters(const Progress&, std::int64_t) override { return reads; }
  void after_step(Progress& run) override { note("done", run.step); }
  void between_steps(Progress& run) override { note("between", run.step); }
  void on_end(Progress& run) override { note("end", run.step); }

  std::string calls;
  std::int64_t stops_after = -1;
  bool reads = true;

 private:
  void note(const std::string& name, std::int64_t step) { calls += name + " " + std::to_string(step) + "\n"; }
};

/// The calls of a run of so many steps of two micro-batches each.
std::string calls_in(int steps, std::int64_t stops_after = -1, bool reads = true) {
  const ConfigTree tree({.file = "test.yaml",
                         .text = "data: {dataset: digits}\n"
                                 "model: {layers: [{dense: 10}], loss: softmax_cross_entropy}\n"
                                 "train: {batch: 40, accumulate: 2, optimizer: {sgd: {lr: 0.1}}, steps: " +
                                 std::to_string(steps) + "}\n"},
                        run_settings());
  Mesh mesh(test_world(), {.data = test_world().size()});
  ThreadPool pool(1, true);
  Session session(tree.root(),
                  Data{.name = "noise", .train = std::make_unique<NoiseDataset>(200, Shape{8, 8, 1}, 10, 1)},
                  mesh, pool);
  TrainingParts parts(tree.root(), session, {.oversubscribed = true});
  parts.reducer->publish();
  Progress run{.steps_per_epoch = parts.facts.steps_per_epoch, .total_steps = parts.facts.total_steps};
  Noting noting;
  noting.stops_after = stops_after;
  noting.reads = reads;
  Trainer(parts).train(run, noting);
  return noting.calls;
}

}  // namespace

TEST_CASE("a hook is called in every phase of every step, in order", "[training]") {
  CHECK(calls_in(2) ==
        "start 0\n"
        "step 0\nbackward 0\nbackward 1\nconsensus 0\nupdate 0\npublish 0\npublished 1\ndone 1\nbetween 1\n"
        "step 1\nbackward 2\nbackward 3\nconsensus 1\nupdate 1\npublish 1\npublished 2\ndone 2\nbetween 2\n"
        "end 2\n");
}

TEST_CASE("parameters that no hook reads between steps arrive by the end of the next backward",
          "[training]") {
  CHECK(calls_in(2, -1, false) ==
        "start 0\n"
        "step 0\nbackward 0\nbackward 1\nconsensus 0\nupdate 0\npublish 0\ndone 1\nbetween 1\n"
        "step 1\npublished 1\nbackward 2\nbackward 3\nconsensus 1\nupdate 1\npublish 1\npublished 2\ndone "
        "2\nbetween 2\n"
        "end 2\n");
}

TEST_CASE("all ranks end the step under way when one signals to stop", "[training]") {
  CHECK(calls_in(5, 1) == calls_in(2));
}

}  // namespace trainer
