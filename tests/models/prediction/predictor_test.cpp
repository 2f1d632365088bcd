#include "models/prediction/predictor.h"

#include <catch2/catch.hpp>

#include "engine/config/config_tree.h"
#include "models/prediction/prediction_stream.h"
#include "models/prediction/sample_groups.h"
#include "models/training/settings.h"
#include "tests/support/safetensors_writer.h"
#include "tests/support/temporary_folder.h"

namespace trainer {
namespace {

constexpr int kSamples = 75;

/// Samples of a list; every fifth is damaged.
class Listed final : public SampleSource {
 public:
  explicit Listed(std::size_t burst) : burst_(burst) {}
  /// After each `burst` samples it has none yet.
  Next next(RawSample& sample, bool waits) override {
    if (next_ == kSamples) return Next::end;
    if (!waits && next_ % burst_ == 0) return Next::later;
    const std::vector<float> values{static_cast<float>(next_), 1 / (1 + static_cast<float>(next_)), -2};
    sample = {.kind = RawSample::Kind::values, .unit = RawSample::Unit::row, .file = "x", .place = next_};
    sample.bytes.assign(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
    if (next_ % 5 == 4) sample.problem = "damaged";
    ++next_;
    return Next::sample;
  }

 private:
  std::size_t burst_;
  std::int64_t next_ = 0;
};

/// A network with a running mean, and its weights.
class Trained {
 public:
  Trained()
      : tree_(
            {.file = "a.yaml",
             .text =
                 "data: {dataset: {synthetic: {shape: [3], classes: 2}}}\n"
                 "model: {layers: [{dense: 7}, batch_norm, relu, {dense: 2}], loss: softmax_cross_entropy}\n"
                 "train: {epochs: 1, batch: 4, optimizer: {sgd: {lr: 0.1}}}\n"},
            run_settings()) {
    data_.info.sample = {3};
    data_.info.classes = 2;
    data_.train = 1;
    data_.statistics = {{1, 2, 3}, {0.5f, 1, 2}};
    std::vector<std::vector<float>> memory;
    std::vector<NamedView> views;
    const auto add = [&](const std::string& name, const Shape& shape, float first) {
      memory.emplace_back(static_cast<std::size_t>(shape.size()));
      for (std::size_t i = 0; i < memory.back().size(); ++i)
        memory.back()[i] = first + 0.125f * static_cast<float>(i * 7 % 11);
      shapes_.push_back(shape);
      names_.push_back(name);
    };
    add("dense1.weight", {7, 3}, -0.5f);
    add("dense1.bias", {7}, 0);
    add("batch_norm1.weight", {7}, 1);
    add("batch_norm1.bias", {7}, 0);
    add("dense2.weight", {2, 7}, -0.5f);
    add("dense2.bias", {2}, 0);
    add("batch_norm1.running_mean", {7}, 0);
    add("batch_norm1.running_var", {7}, 1);
    for (std::size_t i = 0; i < memory.size(); ++i)
      views.push_back({names_[i], ConstTensor(memory[i].data(), shapes_[i])});
    write_safetensors(weights(), views);
  }

  std::filesystem::path weights() const { return folder_.path() / "model.safetensors"; }

  /// Predicts all samples in bursts.
  std::vector<Prediction> predict(int workers, std::size_t burst) const {
    Predictor predictor(tree_.root(), data_, workers);
    predictor.load(weights());
    ThreadPool pool(workers);
    Listed source(burst);
    std::vector<Prediction> all;
    predict_all(predictor, &source, pool, *world_,
                [&](std::span<const Prediction> some) { all.insert(all.end(), some.begin(), some.end()); });
    return all;
  }

 private:
  TemporaryFolder folder_;
  ConfigTree tree_;
  DataDescription data_{.name = "synthetic"};
  std::vector<Shape> shapes_;
  std::vector<std::string> names_;
  std::unique_ptr<Communicator> world_ = solo();
};

}  // namespace

TEST_CASE("a prediction does not depend on workers, nor on how samples come", "[prediction]") {
  const Trained trained;
  const std::vector<Prediction> alone = trained.predict(1, kSamples + 1);
  REQUIRE(alone.size() == kSamples);
  CHECK(alone[0].values != alone[1].values);
  CHECK(alone[0].values[0] + alone[0].values[1] == Approx(1));
  CHECK(alone[4].problem == "damaged");
  CHECK(alone[4].values.empty());
  for (const int workers : {1, 3})
    for (const std::size_t burst : {std::size_t{1}, std::size_t{17}, std::size_t{kSamples + 1}}) {
      const std::vector<Prediction> again = trained.predict(workers, burst);
      REQUIRE(again.size() == alone.size());
      for (std::size_t i = 0; i < alone.size(); ++i) {
        CHECK(again[i].place == static_cast<std::int64_t>(i));
        // Groups are the same where samples do not come in bursts, and so are the bits.
        if (burst > kSamples) CHECK(again[i].values == alone[i].values);
        for (std::size_t k = 0; k < alone[i].values.size(); ++k)
          CHECK(again[i].values[k] == Approx(alone[i].values[k]).epsilon(1e-5));
      }
    }
}

TEST_CASE("groups are full until the source has no more, and travel between ranks", "[prediction]") {
  Listed source(20);
  std::vector<std::size_t> sizes;
  for (auto groups = next_groups(source, 3); !groups.empty(); groups = next_groups(source, 3)) {
    CHECK(packed(unpacked_groups(packed(groups))) == packed(groups));
    for (const SampleGroup& group : groups) sizes.push_back(group.size());
  }
  CHECK(sizes == std::vector<std::size_t>{16, 4, 16, 4, 16, 4, 15});
  const std::vector<Prediction> predictions{
      {.unit = RawSample::Unit::line, .file = "a", .place = 3, .id = "k", .positions = 2, .values = {1, 2}},
      {.file = "b", .problem = "damaged"}};
  CHECK(packed(unpacked_predictions(packed(predictions))) == packed(predictions));
  CHECK_THROWS_AS(unpacked_predictions(packed(predictions).substr(0, 40)), std::logic_error);
}

}  // namespace trainer
