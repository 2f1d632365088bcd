#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "datasets/loading/data_description.h"
#include "models/network/statistics_reducer.h"
#include "models/prediction/token_choice.h"
#include "models/prediction/token_scorer.h"

namespace trainer {

/// How a text is continued.
struct Continuation {
  std::int64_t tokens = 500;  ///< at most
  TokenChoice choice = {};
  std::vector<std::string> stops = {};  ///< texts before which it ends
  std::uint64_t seed = 1;
};

/// A trained model that continues texts, without the data of training. Each worker has a network of its own;
/// all read the same parameters. A text depends on its prompt, its number and the seed alone.
class TextGenerator {
 public:
  /// `root`: the configuration of the run; `data`: of a text. Error(usage) if the model does not score
  /// tokens.
  TextGenerator(const Config& root, const DataDescription& data, int workers);
  ~TextGenerator();

  /// Error(weights) if the file's tensors do not fit.
  void load(const std::filesystem::path& weights);
  const Tokenizer& tokenizer() const { return *absent_.train->info().tokenizer; }
  /// Continues a prompt, the text of this number, and gives the continuation to `take` as it becomes certain,
  /// in whole characters. Workers call it at the same time.
  void generate(int worker, std::span<const Token> prompt, std::uint64_t number,
                const Continuation& continuation, const std::function<void(std::string_view)>& take);

 private:
  struct Worker;

  Data absent_;
  std::vector<float> values_;
  std::vector<std::unique_ptr<Worker>> workers_;
};

}  // namespace trainer
