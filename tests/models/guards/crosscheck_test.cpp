#include "models/guards/crosscheck.h"

#include <bit>
#include <catch2/catch.hpp>

#include "engine/config/config_tree.h"
#include "engine/system/host.h"
#include "models/layers/layer.h"
#include "models/runs/training_run.h"
#include "tests/support/mpi_main.h"
#include "tests/support/noise_dataset.h"
#include "tests/support/temporary_folder.h"

namespace trainer {
namespace {

/// A processor that flips a bit of every row in so many backward passes from the `first` one on.
struct Fault {
  int rank = -1, first = 0, passes = 0;
};
Fault fault;
int passes = 0;

/// The identity, but for the fault.
class Faulty final : public Layer {
 public:
  Shape setup(const Shape& sample, Plan&) override { return sample; }
  void forward(ConstTensor x, Tensor y, Pass&) override { std::ranges::copy(x.span(), y.data()); }
  void backward(ConstTensor, ConstTensor, Tensor dy, Tensor dx, Pass&) override {
    std::ranges::copy(dy.span(), dx.data());
    const int pass = passes++;
    if (test_world().rank() != fault.rank || pass < fault.first || pass >= fault.first + fault.passes) return;
    for (std::int64_t row = 0; row < dx.rows(); ++row) {
      float& value = dx.data()[(row + 1) * dx.row_size() - 1];
      value = std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) ^ 1u << 20);
    }
  }
};

const Registry<Layer>::Add crosscheck_test_layer{{.name = "faulty", .help = "", .settings = {}},
                                                 [](const Config&) { return std::make_unique<Faulty>(); }};

/// The error of a run of three steps that checks the second; empty: none.
std::string error_of(const Fault& what, int model_ranks = 1, const std::string& settings = "") {
  fault = what;
  passes = 0;
  const ConfigTree tree(
      {.file = "test.yaml",
       .text = "data: {dataset: digits}\n"
               "model: {layers: [{dense: {units: 20, activation: tanh}}, faulty, {dense: 10}], loss: "
               "softmax_cross_entropy}\n"
               "train: {batch: 40, steps: 3, optimizer: {sgd: {lr: 0.1}}, exact: true, crosscheck: 2" +
               settings + "}\n"},
      run_settings());
  Mesh mesh(test_world(), {.data = test_world().size() / model_ranks, .model = model_ranks});
  ThreadPool pool(1, true);
  const Shape sample{8, 8, 1};
  Session session(tree.root(),
                  Data{.name = "noise", .train = std::make_unique<NoiseDataset>(200, sample, 10, 1)}, mesh,
                  pool);
  TrainingRun trainer(tree.root(), session, {.reducer = {.oversubscribed = true}});
  const TemporaryFolder folder;
  try {
    trainer.run({}, folder.path());
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::diverged);
    return error.what();
  }
  return "";
}

std::string rank_here(int rank) { return "rank " + std::to_string(rank) + " on " + host_name(); }

}  // namespace

TEST_CASE("a processor that errs once in the virtual worker that is checked is named", "[training]") {
  const int last = test_world().size() - 1;
  CHECK(error_of({.rank = -1}).empty());
  // The pass of step 2; and the other's virtual worker, which is computed again.
  const int pass = GENERATE(1, 2);
  const std::string words = error_of({.rank = last, .first = pass, .passes = 1});
  CHECK_FALSE(words.empty());
  if (test_world().rank() == 0)
    CHECK_THAT(words,
               Catch::StartsWith("error: " + rank_here(last) +
                                 " computed wrongly: the gradient of dense1.weight, in virtual worker ") &&
                   Catch::Contains(" of step 2"));
}

TEST_CASE("a processor that always errs is named when two others agree, else both are", "[training]") {
  const int ranks = test_world().size(), last = ranks - 1;
  const std::string words = error_of({.rank = last, .passes = 1000});
  // Alone it agrees with itself.
  CHECK(words.empty() == (ranks == 1));
  if (test_world().rank() > 0 || ranks == 1) return;
  if (ranks == 2)
    CHECK_THAT(words, Catch::StartsWith("error: " + rank_here(0) + " and " + rank_here(1) +
                                        " do not compute the same: the gradient of dense1.weight"));
  else
    CHECK_THAT(words, Catch::StartsWith("error: " + rank_here(last) + " computed wrongly: "));
}

TEST_CASE("of several micro-batches the first is checked", "[training]") {
  CHECK(error_of({.rank = -1}, 1, ", accumulate: 2").empty());
  CHECK_FALSE(error_of({.rank = 0, .first = 2, .passes = 1}, 1, ", accumulate: 2").empty());
}

TEST_CASE("an error in a column of a mesh names the ranks that share the virtual worker",
          "[training][4 ranks]") {
  const std::string words = error_of({.rank = 3, .first = 1, .passes = 1}, 2);
  CHECK_FALSE(words.empty());
  if (test_world().rank() == 0)
    CHECK_THAT(words,
               Catch::StartsWith("error: " + rank_here(2) + ", " + rank_here(3) + " computed wrongly: "));
}

TEST_CASE("crosscheck without exact mode is an error of its key", "[training]") {
  const ConfigTree tree(
      {.file = "test.yaml",
       .text = "data: {dataset: digits}\n"
               "model: {layers: [{dense: 10}], loss: softmax_cross_entropy}\n"
               "train: {batch: 40, steps: 3, optimizer: {sgd: {lr: 0.1}},\n  crosscheck: 2}\n"},
      run_settings());
  CHECK_THROWS_WITH(train_settings(tree.root().at("train")),
                    Catch::Contains("test.yaml:4:15") && Catch::Contains("only in exact mode"));
}

}  // namespace trainer
