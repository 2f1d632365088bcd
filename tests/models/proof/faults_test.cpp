// Faults at random steps of a run: each is found, and named for what it is.
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <random>

#include "engine/config/config_tree.h"
#include "models/initializers/initializer.h"
#include "models/proof/step_difference.h"
#include "models/training/trainer.h"
#include "tests/support/mpi_main.h"
#include "tests/support/noise_dataset.h"

namespace trainer {
namespace {

constexpr std::int64_t kSteps = 12, kBatch = 20, kSamples = 100;

enum class Kind { none, gradient, sample, label, rate };

struct Fault {
  Kind kind = Kind::none;
  std::int64_t step = 0;    ///< counted from 0
  std::size_t element = 0;  ///< of a parameter's gradient
  std::size_t parameter = 0;
  int bit = 0;
};

/// Noise; a sample may have one pixel or its label that differs.
class ChangingDataset final : public Dataset {
 public:
  ChangingDataset() : Dataset(NoiseDataset(kSamples, {6, 6, 1}, 10, 1).info()) {}
  void read_labels(std::span<const std::int64_t> indices, std::span<std::int32_t> labels) const override {
    noise_.read_labels(indices, labels);
    for (std::size_t row = 0; row < indices.size(); ++row)
      if (indices[row] == mislabeled) labels[row] = (labels[row] + 1) % 10;
  }
  void read(std::span<const std::int64_t> indices, Tensor x) const override {
    noise_.read(indices, x);
    for (std::size_t row = 0; row < indices.size(); ++row)
      if (indices[row] == changed) x.data()[static_cast<std::int64_t>(row) * x.row_size() + 7] += 0.25f;
  }

  std::int64_t changed = -1, mislabeled = -1;

 private:
  NoiseDataset noise_{kSamples, {6, 6, 1}, 10, 1};
};

/// Keeps all records and items.
class Recording final : public ChainListener {
 public:
  void on_record(const ChainRecord& record, const ChainItems& items) override {
    records.push_back(record);
    all_items.push_back(items);
    samples.emplace_back(items.samples.begin(), items.samples.end());
    all_items.back().samples = samples.back();
  }
  std::vector<ChainRecord> records;
  std::vector<ChainItems> all_items;
  std::vector<std::vector<std::int64_t>> samples;
};

/// Commits the fault.
class FaultHook final : public Hook {
 public:
  FaultHook(const Fault& fault, TrainingParts& parts, ChangingDataset& data)
      : fault_(fault), parts_(parts), data_(data) {
    set_rate(0);
  }
  bool holds_gradients(const MicroBatch&) override { return true; }
  void before_step(std::int64_t step) override {
    const std::int64_t sample = step == fault_.step ? parts_.order.batch(step)[fault_.element % kBatch] : -1;
    data_.changed = fault_.kind == Kind::sample ? sample : -1;
    data_.mislabeled = fault_.kind == Kind::label ? sample : -1;
  }
  void after_backward(const MicroBatch& batch) override {
    if (fault_.kind != Kind::gradient || batch.step != fault_.step) return;
    const Parameter& parameter = parts_.session.network().plan().parameters()[fault_.parameter];
    const std::span<float> gradients = parts_.windows.rest().all_gradients().front();
    const auto first = static_cast<std::size_t>(parameter.offset),
               size = static_cast<std::size_t>(parameter.shape.size());
    for (std::size_t i = 0; i < size; ++i) {
      float& value = gradients[first + (fault_.element + i) % size];
      if (!std::isnormal(value)) continue;  // a subnormal counts as zero
      value = std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) ^ 1u << fault_.bit);
      return;
    }
  }
  void after_step(Progress& run) override { set_rate(run.step); }

 private:
  void set_rate(std::int64_t step) {
    parts_.rate_factor = fault_.kind == Kind::rate && step == fault_.step ? 1.001 : 1;
  }

  Fault fault_;
  TrainingParts& parts_;
  ChangingDataset& data_;
};

constexpr const char* kConfig =
    "data: {dataset: digits}\n"
    "model: {layers: [{dense: {units: 9, activation: tanh}}, {dense: 7}, {dense: 10}], loss: "
    "softmax_cross_entropy}\n"
    "train: {batch: 20, steps: 12, exact: true, optimizer: {sgd: {lr: 0.05, momentum: 0.9}}}\n";

/// What the chain of a run with the fault has.
Recording run_with(const Fault& fault,
                   const std::function<void(const NetworkPlan&, const Recording&)>& look = nullptr) {
  auto data = std::make_unique<ChangingDataset>();
  ChangingDataset& samples = *data;
  const ConfigTree tree({.file = "test.yaml", .text = kConfig}, run_settings());
  Mesh mesh(test_world(), {});
  ThreadPool pool(1, true);  // a bit of a part of a gradient might vanish in the sum
  Session session(tree.root(), Data{.name = "noise", .train = std::move(data)}, mesh, pool);
  TrainingParts parts(tree.root(), session, {.oversubscribed = true});
  initialize(session.network().plan().parameters(), 1, parts.windows.values());
  parts.reducer->publish();
  Progress run{.steps_per_epoch = parts.facts.steps_per_epoch, .total_steps = kSteps};
  Recording recording;
  const Observers none({}, false);
  ChainHook chain(parts, none, "", &recording);
  FaultHook faults(fault, parts, samples);
  Hooks hooks;
  hooks.add(faults);
  hooks.add(chain);
  Trainer(parts).train(run, hooks);
  if (look) look(session.network().plan(), recording);
  return recording;
}

}  // namespace

TEST_CASE("each of 400 faults at random steps is found, at its step and by its name", "[training][1 rank]") {
  std::mt19937 random(7);
  const Recording honest = run_with({});
  const Kind kind = GENERATE(Kind::gradient, Kind::sample, Kind::label, Kind::rate);
  int found = 0;
  for (int i = 0; i < 100; ++i) {
    const Fault fault{.kind = kind,
                      .step = static_cast<std::int64_t>(random() % kSteps),
                      .element = random() % 1000,
                      .parameter = random() % 6,
                      .bit = static_cast<int>(random() % 23)};
    run_with(fault, [&](const NetworkPlan& plan, const Recording& faulty) {
      std::optional<StepDifference> first;
      for (std::size_t step = 0; step <= kSteps && !first; ++step)
        first = step_difference(faulty.records[step], honest.records[step], honest.all_items[step], plan);
      REQUIRE(first);
      INFO(first->text() << ", " << fault.parameter << ", " << fault.step);
      CHECK(first->step == fault.step + 1);
      const auto step = static_cast<std::size_t>(fault.step + 1);
      std::vector<std::string> names;
      if (kind == Kind::gradient) names = {plan.parameters()[fault.parameter].name};
      const bool is_batch = kind == Kind::sample || kind == Kind::label;
      if (is_batch) {
        const std::size_t row = fault.element % kBatch;
        names = {"sample " + std::to_string(honest.samples[step][row]) + ", row " + std::to_string(row + 1)};
      }
      CHECK(first->kind == (kind == Kind::gradient ? StepDifference::Kind::gradients
                            : is_batch             ? StepDifference::Kind::batch
                                                   : StepDifference::Kind::weights));
      CHECK(first->items == names);
      found += first->step == fault.step + 1 && first->items == names;
    });
  }
  CHECK(found == 100);
}

}  // namespace trainer
