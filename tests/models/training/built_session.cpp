#include "tests/models/training/built_session.h"

#include "models/runs/training_run.h"
#include "models/training/evaluation.h"
#include "tests/models/training/placed_run.h"

namespace trainer {

BuiltSession::BuiltSession(Communicator& world, const Text& text, Data data, const Mesh::Options& mesh)
    : tree_({.file = "test.yaml",
             .text = "data: {dataset: digits, " + text.data.substr(1) + "\nmodel: {layers: " + text.layers +
                     ", loss: " + text.loss + "}\ntrain: {" + text.train + "}\n"},
            run_settings()),
      mesh_(world, mesh),
      pool_(2, true),
      session_(tree_.root(), std::move(data), mesh_, pool_) {}

std::vector<double> BuiltSession::train(const std::filesystem::path& folder) {
  TrainingRun trainer(tree_.root(), session_, {});
  std::vector<double> numbers;
  Losses observer(numbers);
  trainer.run({&observer}, folder);
  const Scores scores = evaluate(session_, *session_.data().test);
  numbers.push_back(scores.loss);
  numbers.insert(numbers.end(), scores.metrics.begin(), scores.metrics.end());
  return numbers;
}

}  // namespace trainer
